import type { ColumnData, ColumnRead, Field, RowColumns, RowSignal, Step } from "../../engine/index.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";

/** What is to be read of rows: gathered while a query is compiled, before anything is read. */
export class TableRequest {
  readonly signal: RowSignal;
  /** What the rows pass, as far as one row decides. */
  readonly steps: Step[];
  readonly conditions: Step[][] = [];
  readonly columns: ColumnRead[] = [];
  readonly #known = new Map<string, number>();

  constructor(signal: RowSignal, steps: Step[]) {
    this.signal = signal;
    this.steps = steps;
  }

  /** The place of a condition among those that are read; equal ones are read once. */
  addCondition(steps: Step[]): number {
    return this.#place(`condition ${JSON.stringify(steps)}`, () => this.conditions.push(steps) - 1);
  }

  /** The place of a column of 64-bit hashes of a field. */
  addHashes(field: ColumnRead["field"]): number {
    return this.#place(`hash ${JSON.stringify(field)}`, () => this.columns.push({ field, as: "hash" }) - 1);
  }

  #place(key: string, add: () => number): number {
    const place = this.#known.get(key) ?? add();
    this.#known.set(key, place);
    return place;
  }
}

/** Rows in order of time, those of equal time in the order of their arrival. */
export class RowTable {
  readonly rows: number;
  /** Nanoseconds since the start of what was read. */
  readonly timeNs: Float64Array;
  readonly arrivals: Float64Array;
  /** One for each condition of the request: 1 for the rows that pass it. */
  readonly conditions: readonly Uint8Array[];
  readonly #columns: readonly ColumnData[];
  readonly fromNs: bigint;

  private constructor(fromNs: bigint, columns: Omit<RowColumns, "scanned">) {
    this.rows = columns.rows;
    this.timeNs = columns.timeNs;
    this.arrivals = columns.arrivals;
    this.conditions = columns.conditions;
    this.#columns = columns.columns;
    this.fromNs = fromNs;
  }

  /** Puts rows in order. */
  static async sort(read: RowColumns, fromNs: bigint, work: WorkDeadline): Promise<RowTable> {
    const { timeNs, arrivals } = read;
    const places = Uint32Array.from(timeNs, (_, i) => i);
    const order = await sortInTurns(
      places,
      (a, b) => timeNs[a]! - timeNs[b]! || arrivals[a]! - arrivals[b]!,
      work,
    );
    const columns: ColumnData[] = [];
    for (const column of read.columns) {
      columns.push(reorder(column, order));
      if (work.isTurnOver(64)) await work.yield();
    }
    return new RowTable(fromNs, {
      rows: read.rows,
      timeNs: pick(timeNs, order, new Float64Array(order.length)),
      arrivals: pick(arrivals, order, new Float64Array(order.length)),
      conditions: read.conditions.map((passed) => pick(passed, order, new Uint8Array(order.length))),
      columns,
    });
  }

  hashesOf(place: number): { low: Uint32Array; high: Uint32Array } {
    const column = this.#columns[place]!;
    if (column.as !== "hash") throw new Error("not a column of hashes");
    return column;
  }

  /** Whole milliseconds since the epoch. */
  timeMsOf(row: number): number {
    return Number((this.fromNs + BigInt(this.timeNs[row]!)) / 1_000_000n);
  }
}

function pick<A extends { [i: number]: number }>(from: A, order: Uint32Array, into: A): A {
  for (let i = 0; i < order.length; i++) into[i] = from[order[i]!]!;
  return into;
}

function reorder(column: ColumnData, order: Uint32Array): ColumnData {
  if (column.as !== "hash") throw new Error("not a column of hashes");
  const { low, high } = column;
  return {
    as: "hash",
    low: pick(low, order, new Uint32Array(order.length)),
    high: pick(high, order, new Uint32Array(order.length)),
  };
}

/** True for fields that a column can be read of: all but the time, which every table has. */
export function isColumnField(field: Field): field is ColumnRead["field"] {
  return field.kind !== "time";
}
