import { readFileSync } from "node:fs";

/** One case of a file: a query, and the lines of the expected answer. */
export interface QueryCase {
  query: string;
  answer: string;
}

/**
 * The cases of a file in test/query/plan/cases. A case begins with `>>> ` and its query. More lines of the query begin
 * with `... `. The lines after it up to the next case are the answer, without empty lines at its end. Text before the
 * first case is a comment.
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
