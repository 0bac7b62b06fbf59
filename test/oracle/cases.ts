import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { FoundRow, Store } from "../../engine/index.ts";
import { searchLogs } from "../../query/index.ts";

/** A query, and the answer that `logs.py` found to the same question by reading every line. */
export interface OracleCase {
  name: string;
  query: string;
  /** Milliseconds since the epoch, inclusive. Absent, as `to`: all of time. */
  from?: number;
  to?: number;
  /** The attribute whose values are counted. */
  tally?: string;
  expect: Answer;
}

interface Answer {
  count: number;
  /** Times of the three newest rows, nanoseconds since the epoch. */
  newest: string[];
  /** SHA-256 of all rows in order, each as a line of its time in nanoseconds and its message. */
  digest: string;
  tally?: Record<string, number>;
}

const pageRows = 1000;
/** Long, as a busy machine may be slow and nothing here is a measurement. */
const timeoutMs = 120_000;
const endOfTimeMs = Date.UTC(2100, 0, 1);

export function readCases(file: string): OracleCase[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
}

/** Makes one test for each case. It reads all pages of the query's rows and compares them with the answer. */
export function runCases(cases: readonly OracleCase[], openedStore: () => Store): void {
  test.each(cases)(
    "$name: $query",
    async (asked) => {
      expect(await answerOf(openedStore(), asked)).toEqual(asked.expect);
    },
    timeoutMs,
  );
}

async function answerOf(store: Store, asked: OracleCase): Promise<Answer> {
  const digest = createHash("sha256");
  const answer: Answer = { count: 0, newest: [], digest: "" };
  const tally = new Map<string, number>();
  for await (const row of readAllRows(store, asked)) {
    answer.count += 1;
    if (answer.newest.length < 3) answer.newest.push(String(row.timeNs));
    digest.update(`${row.timeNs} ${row.message}\n`);
    const value = asked.tally === undefined ? undefined : row.attributes[asked.tally];
    if (value !== undefined) tally.set(value, (tally.get(value) ?? 0) + 1);
  }
  answer.digest = digest.digest("hex");
  if (asked.tally !== undefined) answer.tally = Object.fromEntries(tally);
  return answer;
}

async function* readAllRows(
  store: Store,
  { query, from = 0, to = endOfTimeMs }: OracleCase,
): AsyncGenerator<FoundRow> {
  let cursor: string | undefined;
  do {
    const page = {
      query,
      startMs: from,
      endMs: to,
      limit: pageRows,
      ...(cursor === undefined ? {} : { cursor }),
    };
    const found = await searchLogs(store, page);
    yield* found.rows;
    cursor = found.cursor;
  } while (cursor !== undefined);
}
