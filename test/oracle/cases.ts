import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { FoundRow, Store } from "../../engine/index.ts";
import { searchLogs } from "../../query/index.ts";

/** A query with the answer that `logs.py` gave to the same question by looking at every line. */
export interface OracleCase {
  name: string;
  query: string;
  /** Milliseconds since the epoch, both included; all of time when absent. */
  from?: number;
  to?: number;
  /** The field whose values are counted. */
  tally?: string;
  expect: Answer;
}

interface Answer {
  count: number;
  /** Nanoseconds of the newest rows. */
  newest: string[];
  /** SHA-256 over all rows in order, as lines of nanoseconds and message. */
  digest: string;
  tally?: Record<string, number>;
}

const pageRows = 1000;
/** Nothing here is timed; a busy machine may take its time. */
const patienceMs = 120_000;
const endOfTimeMs = Date.UTC(2100, 0, 1);

export function readCases(file: string): OracleCase[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
}

/** One test a case: the query's rows, read page by page, against the answer. */
export function testCases(cases: readonly OracleCase[], openedStore: () => Store): void {
  test.each(cases)(
    "$name: $query",
    async (asked) => {
      expect(await answerOf(openedStore(), asked)).toEqual(asked.expect);
    },
    patienceMs,
  );
}

async function answerOf(store: Store, asked: OracleCase): Promise<Answer> {
  const digest = createHash("sha256");
  const answer: Answer = { count: 0, newest: [], digest: "" };
  const tally = new Map<string, number>();
  for await (const row of everyRow(store, asked)) {
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

async function* everyRow(
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
