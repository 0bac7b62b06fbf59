import type { ColumnData } from "../../engine/index.ts";
import type { WorkDeadline } from "../time/deadline.ts";

/** 64-bit hashes of one field of rows, in two halves; both are 0 where a row lacks the field. */
export type HashColumn = Extract<ColumnData, { as: "hash" }>;

/** Rows between two looks at the clock. */
const rowsPerCheck = 8_192;
/** An odd number: multiplying by it mixes the bits of a hash, and no two numbers become one. */
const mixer = 0x9e3779b1;

/**
 * Finds a span's row by the hashes of its trace and its own id. The same id in another trace is another span; where one
 * span was stored twice, the first row stands for both.
 */
export class SpanTable {
  readonly #rows: Int32Array;
  readonly #mask: number;
  readonly #low: Uint32Array;
  readonly #high: Uint32Array;

  private constructor(rows: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(2, rows * 2)));
    this.#rows = new Int32Array(size).fill(-1);
    this.#mask = size - 1;
    this.#low = new Uint32Array(rows);
    this.#high = new Uint32Array(rows);
  }

  /** Throws Failure "deadline" or "cancelled". */
  static async of(traces: HashColumn, spans: HashColumn, work: WorkDeadline): Promise<SpanTable> {
    const rows = spans.low.length;
    const table = new SpanTable(rows);
    for (let row = 0; row < rows; row++) {
      if (row % rowsPerCheck === 0 && work.isTurnOver(rowsPerCheck)) await work.yield();
      if (spans.low[row] !== 0 || spans.high[row] !== 0) table.#add(traces, spans, row);
    }
    return table;
  }

  /** The row of the span with the trace and the id that stand in `row` of two columns; -1 where there is none. */
  find(traces: HashColumn, spans: HashColumn, row: number): number {
    if (spans.low[row] === 0 && spans.high[row] === 0) return -1;
    return this.#rows[this.#placeOf(keyOf(traces.low, spans.low, row), keyOf(traces.high, spans.high, row))]!;
  }

  #add(traces: HashColumn, spans: HashColumn, row: number): void {
    const low = keyOf(traces.low, spans.low, row);
    const high = keyOf(traces.high, spans.high, row);
    this.#low[row] = low;
    this.#high[row] = high;
    const place = this.#placeOf(low, high);
    if (this.#rows[place] === -1) this.#rows[place] = row;
  }

  /** The place of a key, or the free place where it belongs. */
  #placeOf(low: number, high: number): number {
    let place = (low ^ (high >>> 7)) & this.#mask;
    for (;;) {
      const row = this.#rows[place]!;
      if (row === -1 || (this.#low[row] === low && this.#high[row] === high)) return place;
      place = (place + 1) & this.#mask;
    }
  }
}

/** Half of the key of a span. The trace's half is mixed, since a span may have the id of its trace. */
function keyOf(traces: Uint32Array, spans: Uint32Array, row: number): number {
  return (Math.imul(traces[row]!, mixer) ^ spans[row]!) >>> 0;
}

/** For each span the row of its parent, -1 where it has none among the rows. Throws Failure "deadline", "cancelled". */
export async function findParents(
  table: SpanTable,
  traces: HashColumn,
  parents: HashColumn,
  work: WorkDeadline,
): Promise<Int32Array> {
  const found = new Int32Array(parents.low.length);
  for (let row = 0; row < found.length; row++) {
    if (row % rowsPerCheck === 0 && work.isTurnOver(rowsPerCheck)) await work.yield();
    found[row] = table.find(traces, parents, row);
  }
  return found;
}
