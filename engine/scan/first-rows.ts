/** Collects the first rows of an order, up to a limit. */
import type { ChunkRef } from "../chunk/chunk-ref.ts";
import type { RowState } from "../filter/row-state.ts";
import type { RowOrder } from "../plan/row-query.ts";

/** A row after steps that extract or format: its attributes are the stored and the extracted ones. */
interface MadeRow {
  message: string;
  attributes: ReadonlyMap<string, string>;
}

/** Reads what steps have made of a row, so that the view of its chunk may be closed. */
export function finishRow({ message, attributes }: RowState): MadeRow {
  return { message, attributes: new Map(attributes) };
}

/** A row that may be among the first, not read yet. */
export interface CandidateRow {
  day: number;
  timeNs: number;
  arrival: number;
  ref: ChunkRef;
  row: number;
  /** What steps have made of the row; undefined where they change nothing. */
  made: MadeRow | undefined;
}

/** What the place of a row in an order depends on. */
type RowPlace = Pick<CandidateRow, "day" | "timeNs" | "arrival">;

export class FirstRows {
  readonly #limit: number;
  readonly #order: RowOrder;
  #rows: CandidateRow[] = [];
  #worst: CandidateRow | undefined;

  constructor(limit: number, order: RowOrder) {
    this.#limit = limit;
    this.#order = order;
  }

  /** Whether a row of that time could still be among the first. `timeNs`: since the start of the day. */
  admits(day: number, timeNs: number): boolean {
    const worst = this.#worst;
    if (worst === undefined) return true;
    if (this.#order === "newest") return day > worst.day || (day === worst.day && timeNs >= worst.timeNs);
    return day < worst.day || (day === worst.day && timeNs <= worst.timeNs);
  }

  add(candidate: CandidateRow): void {
    this.#rows.push(candidate);
    // The first full set is sorted at once, for its bound; later ones when there are enough rows to pay for a sort.
    if (this.#rows.length === this.#limit || this.#rows.length >= this.#limit * 2 + 64) this.#cut();
  }

  finish(): CandidateRow[] {
    this.#cut();
    return this.#rows;
  }

  #cut(): void {
    this.#rows.sort(compareIn(this.#order));
    this.#rows.length = Math.min(this.#rows.length, this.#limit);
    this.#worst = this.#rows.length === this.#limit ? this.#rows.at(-1) : undefined;
  }
}

/** Compares the places of two rows in an order. */
export function compareIn(order: RowOrder): (a: RowPlace, b: RowPlace) => number {
  const newestFirst = (a: RowPlace, b: RowPlace) =>
    b.day - a.day || b.timeNs - a.timeNs || a.arrival - b.arrival;
  return order === "newest" ? newestFirst : (a, b) => newestFirst(b, a);
}
