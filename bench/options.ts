import { parseArgs } from "node:util";

export interface BenchOptions {
  /** Rows of the store that queries run over. */
  rows: number;
  /** Where the figures go as JSON. */
  jsonFile: string;
  /** Where rows and stores lie meanwhile: on a disk, since a temporary folder may be memory. */
  dataFolder: string;
}

export const usage = `Usage: npm run bench -- [--rows N] [--json FILE] [--data DIR]
  --rows N      rows of the store that queries run over (2,000,000)
  --json FILE   where the figures go as JSON (bench/results/latest.json)
  --data DIR    where rows and stores lie meanwhile, on the disk to be measured (bench/data)
`;

/** Throws an Error with a sentence for people. */
export function readOptions(args: string[]): BenchOptions {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ args, options: { rows: text, json: text, data: text } });
  const rows = Number((values.rows ?? "2000000").replaceAll(/[_,]/g, ""));
  if (!Number.isSafeInteger(rows) || rows < 1000)
    throw new Error("--rows must be a whole number of 1,000 or more");
  const here = (path: string): string => new URL(path, import.meta.url).pathname;
  return {
    rows,
    jsonFile: values.json ?? here("results/latest.json"),
    dataFolder: values.data ?? here("data"),
  };
}
