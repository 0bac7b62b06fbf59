/** Collects the newest rows, up to a limit: newest first, equal times in the order of arrival. */
import type { ChunkRef } from "../chunk/chunk-ref.ts";

/** A row that may be among the newest, not read yet. */
export interface CandidateRow {
  day: number;
  timeNs: number;
  arrival: number;
  ref: ChunkRef;
  row: number;
  /** Stored and extracted attributes; undefined where nothing was extracted. */
  attributes: Map<string, string> | undefined;
}

/** What the order of rows depends on. */
type RowOrder = Pick<CandidateRow, "day" | "timeNs" | "arrival">;

export class NewestRows {
  readonly #limit: number;
  #rows: CandidateRow[] = [];
  #worst: CandidateRow | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether a row of that time could still be among the newest. `timeNs`: since the start of the day. */
  admits(day: number, timeNs: number): boolean {
    const worst = this.#worst;
    return worst === undefined || day > worst.day || (day === worst.day && timeNs >= worst.timeNs);
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
    this.#rows.sort(compareNewestFirst);
    this.#rows.length = Math.min(this.#rows.length, this.#limit);
    this.#worst = this.#rows.length === this.#limit ? this.#rows.at(-1) : undefined;
  }
}

/** Orders rows newest first, equal times in the order of arrival. */
export function compareNewestFirst(a: RowOrder, b: RowOrder): number {
  return b.day - a.day || b.timeNs - a.timeNs || a.arrival - b.arrival;
}
