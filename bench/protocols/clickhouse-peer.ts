/**
 * The CPU that ClickHouse takes for the rows that `protocols.ts` sends, from JSON lines into the table of `npm run
 * bench`.
 */
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { CardinalityCounter } from "../datasets/cardinality.ts";
import { type BenchDataset, makeEmptyQuestions } from "../datasets/dataset.ts";
import { projectRoot } from "../paths.ts";
import { runJob } from "../runner/job.ts";
import { installPeers } from "../systems/peer-packages.ts";
import { ProgressLine } from "../terminal/progress.ts";

/** As many as svc has. */
const threads = 2;

/** Bodies of JSON lines in time order, and the milliseconds of their first and last row. */
export interface SentLines {
  bodies: Iterable<Uint8Array>;
  rows: number;
  startMs: number;
  endMs: number;
}

/** CPU seconds of a fresh process until the rows are durable. Installs ClickHouse where it is missing. */
export async function measureClickHouseCpu(sent: SentLines): Promise<number> {
  const progress = new ProgressLine();
  const show = progress.show.bind(progress);
  const dir = await mkdtemp(join(tmpdir(), "svc-protocols-peer-"));
  try {
    await installPeers(["clickhouse"], show);
    const dataset = await makeDataset(sent, join(dir, "rows.jsonl"));
    const target = {
      system: "clickhouse",
      dir: join(dir, "store"),
      dataset,
      threads,
      root: projectRoot,
    } as const;
    const { cpuSeconds } = await runJob(target, { do: "load" }, show);
    if (cpuSeconds === undefined) throw new Error("clickhouse: its load tells no CPU time");
    return cpuSeconds;
  } finally {
    progress.end();
    await rm(dir, { recursive: true, force: true });
  }
}

async function makeDataset({ bodies, rows, startMs, endMs }: SentLines, file: string): Promise<BenchDataset> {
  const values = new CardinalityCounter();
  const out = createWriteStream(file);
  for (const body of bodies) {
    for (const line of Buffer.from(body).toString().trimEnd().split("\n")) {
      values.add((JSON.parse(line) as { attributes: Record<string, string> }).attributes);
    }
    out.write(body);
  }
  out.end();
  await finished(out);
  return {
    name: "system",
    signal: "logs",
    rows,
    file,
    fileBytes: out.bytesWritten,
    textFile: "",
    startMs,
    endMs,
    attributes: values.counts(),
    questions: makeEmptyQuestions(),
  };
}
