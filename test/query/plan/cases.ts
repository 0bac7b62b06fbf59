import { readFileSync } from "node:fs";

/** One case of a file: what is asked, and the lines that answer it. */
export interface QueryCase {
  query: string;
  answer: string;
}

/**
 * The cases of a file in test/query/cases. A case begins with `>>> ` and its query, which goes on in lines that begin with `... `; the
 * lines behind it up to the next case are the answer, the empty ones at its end left out. Lines before the first case say what it is for.
 */
export function readCases(file: string): QueryCase[] {
  const text = readFileSync(new URL(`./cases/${file}`, import.meta.url), "utf8");
  return text
    .split(/^>>> ?/m)
    .slice(1)
    .map((block) => {
      const [first = "", ...rest] = block.split("\n");
      const more = rest.findIndex((line) => !line.startsWith("... "));
      const query = [first, ...rest.slice(0, more).map((line) => line.slice(4))].join("\n");
      return { query, answer: rest.slice(more).join("\n").trimEnd() };
    });
}
