/**
 * Reads all rows of a store, by search and by scan, and compares each with the row that seed and batch number
 * determine.
 */
import type { FoundRow, LogRow, RowPosition, RowQuery, RowSignal, Store } from "../../../engine/index.ts";
import { batchSignals, identityOf, isSameRow, rowsOf } from "./batches.ts";

export interface FoundBatch {
  batch: number;
  signal: RowSignal;
  /** Number of its rows that were found. */
  rows: number;
  /** True where these are all its rows. */
  isWhole: boolean;
  /** Arrival number of its first row, computed from those of the rows found. */
  arrivalBase: number;
}

export interface Contents {
  batches: FoundBatch[];
  rows: number;
  /** What must never occur: unknown rows, duplicate rows, rows out of order. */
  problems: string[];
}

export const everythingNs = { fromNs: 0n, toNs: 1n << 62n } as const;
const problemsMax = 20;

/** Reads the store. `pageRows`: rows of one page of the search. */
export async function readContents(store: Store, seed: number, pageRows = 1_000): Promise<Contents> {
  const bySearch = new BatchTally(seed);
  const byScan = new BatchTally(seed);
  for (const signal of batchSignals) {
    let before: FoundRow | undefined;
    for await (const row of searchAll(store, pageRows, signal)) {
      bySearch.add(row, signal, row.arrival);
      if (before !== undefined && !isAfter(row, before))
        bySearch.note(`row ${row.attributes.id} is out of order`);
      before = row;
    }
    for await (const row of scanAll(store, signal)) byScan.add(row, signal, undefined);
  }
  const contents = bySearch.finish();
  const scanned = byScan.finish();
  const problems = [...contents.problems, ...scanned.problems.map((problem) => `scan: ${problem}`)];
  if (scanned.rows !== contents.rows)
    problems.push(`search found ${contents.rows} rows, scan ${scanned.rows}`);
  return { ...contents, problems };
}

/** Yields every row, page by page; each page starts after the last row of the previous one. */
export async function* searchAll(
  store: Store,
  pageRows: number,
  signal: RowSignal = "logs",
): AsyncGenerator<FoundRow, void, undefined> {
  let after: RowPosition | undefined;
  for (;;) {
    const query: RowQuery = { signal, ...everythingNs, steps: [], limit: pageRows };
    const { rows, more } = await store.search(after === undefined ? query : { ...query, after });
    yield* rows;
    if (!more) return;
    after = rows.at(-1)!;
  }
}

/** Deadline of the scan: the reader checks every row while the scan runs. */
const scanMsMax = 600_000;

export async function* scanAll(store: Store, signal: RowSignal): AsyncGenerator<LogRow, void, undefined> {
  for await (const batch of store.scan({ signal, ...everythingNs, steps: [] }, { deadlineMs: scanMsMax })) {
    const timesNs = batch.getChild("timestamp")!.data[0]!.values as BigInt64Array;
    const levels = batch.getChild("log_level")!;
    const messages = batch.getChild("message")!;
    const attributes = batch.getChild("attributes")!;
    for (let row = 0; row < batch.numRows; row++) {
      yield {
        timeNs: timesNs[row]!,
        level: levels.get(row) as string,
        message: messages.get(row) as string,
        attributes: Object.fromEntries(attributes.get(row) as Iterable<[string, string]>),
      };
    }
  }
}

/** The order of a search: newest first, ties in the order of arrival. */
function isAfter(row: RowPosition, before: RowPosition): boolean {
  return row.timeNs < before.timeNs || (row.timeNs === before.timeNs && row.arrival > before.arrival);
}

interface TalliedBatch {
  /** The signal of its first row that was found. */
  signal: RowSignal;
  rows: LogRow[];
  seen: Uint8Array;
  arrivalBase: number | undefined;
}

/** Collects the rows of one way of reading, by batch. */
class BatchTally {
  readonly #seed: number;
  readonly #batches = new Map<number, TalliedBatch>();
  readonly #problems: string[] = [];
  #rows = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  note(problem: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(problem);
  }

  add(row: LogRow, signal: RowSignal, arrival: number | undefined): void {
    this.#rows++;
    const problem = this.#check(row, signal, arrival);
    if (problem !== undefined) this.note(problem);
  }

  finish(): Contents {
    const batches = [...this.#batches].map(([batch, { signal, rows, seen, arrivalBase }]) => {
      const count = seen.reduce((sum, one) => sum + one, 0);
      return { batch, signal, rows: count, isWhole: count === rows.length, arrivalBase: arrivalBase ?? 0 };
    });
    return { batches, rows: this.#rows, problems: this.#problems };
  }

  #check(row: LogRow, signal: RowSignal, arrival: number | undefined): string | undefined {
    const identity = identityOf(row.attributes);
    if (identity === undefined) return `a row that nobody sent: ${describeRow(row)}`;
    const [batch, index] = identity;
    const found = this.#batchOf(batch, signal);
    const sent = found.rows[index];
    if (sent === undefined || !isSameRow(sent, row)) return `row ${batch}:${index} is not as it was sent`;
    if (found.seen[index] === 1) return `row ${batch}:${index} stands twice`;
    found.seen[index] = 1;
    if (found.signal !== signal) return `rows of batch ${batch} are among ${found.signal} and ${signal}`;
    if (arrival === undefined) return undefined;
    found.arrivalBase ??= arrival - index;
    const hasItsArrival = found.arrivalBase === arrival - index;
    return hasItsArrival ? undefined : `row ${batch}:${index} has lost its place of arrival`;
  }

  #batchOf(batch: number, signal: RowSignal): TalliedBatch {
    let found = this.#batches.get(batch);
    if (found === undefined) {
      const rows = rowsOf(this.#seed, batch);
      found = { signal, rows, seen: new Uint8Array(rows.length), arrivalBase: undefined };
      this.#batches.set(batch, found);
    }
    return found;
  }
}

function describeRow(row: LogRow): string {
  return JSON.stringify({ ...row, timeNs: String(row.timeNs) }).slice(0, 200);
}
