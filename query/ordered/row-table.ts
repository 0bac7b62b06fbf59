import type { ColumnData, ColumnRead, Field, RowColumns, RowSignal, Step } from "../../engine/index.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { fillInTurns } from "../time/in-turns.ts";
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
    const places = await fillInTurns(new Uint32Array(read.rows), (i) => i, work);
    const order = await sortInTurns(
      places,
      (a, b) => timeNs[a]! - timeNs[b]! || arrivals[a]! - arrivals[b]!,
      work,
    );
    const pick = <A extends Vector>(from: A, into: A) => fillInTurns(into, (i) => from[order[i]!]!, work);
    const columns: ColumnData[] = [];
    for (const column of read.columns) {
      if (column.as !== "hash") throw new Error("not a column of hashes");
      const low = await pick(column.low, new Uint32Array(read.rows));
      columns.push({ as: "hash", low, high: await pick(column.high, new Uint32Array(read.rows)) });
    }
    const conditions: Uint8Array[] = [];
    for (const passed of read.conditions) conditions.push(await pick(passed, new Uint8Array(read.rows)));
    return new RowTable(fromNs, {
      rows: read.rows,
      timeNs: await pick(timeNs, new Float64Array(read.rows)),
      arrivals: await pick(arrivals, new Float64Array(read.rows)),
      conditions,
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

type Vector = Float64Array | Uint32Array | Uint8Array;

/** True for fields that a column can be read of: all but the time, which every table has. */
export function isColumnField(field: Field): field is ColumnRead["field"] {
  return field.kind !== "time";
}
