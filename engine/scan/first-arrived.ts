/** Collects the matching rows that arrived first, up to a limit, or only counts them. */
import type { CandidateRow } from "./first-rows.ts";

export class FirstArrived {
  readonly #rowsMax: number;
  #through: number;
  #rows: CandidateRow[] = [];
  #counted = 0;

  /** `rowsMax`: 0 counts the rows. `through`: the last arrival number that is asked for. */
  constructor(rowsMax: number, through: number) {
    this.#rowsMax = rowsMax;
    this.#through = through;
  }

  /** Whether a row of that arrival number could still be among the first. */
  admits(arrival: number): boolean {
    return arrival <= this.#through;
  }

  add(candidate: CandidateRow): void {
    if (this.#rowsMax === 0) {
      this.#counted++;
      return;
    }
    this.#rows.push(candidate);
    // The first full set is sorted at once, for its bound; later ones when there are enough rows to pay for a sort.
    if (this.#rows.length === this.#rowsMax || this.#rows.length >= this.#rowsMax * 2 + 64) this.#cut();
  }

  /** `through`: the arrival number up to which no matching row is missing. */
  finish(): { rows: CandidateRow[]; count: number; through: number } {
    this.#cut();
    const rows = this.#rows;
    return { rows, count: this.#rowsMax === 0 ? this.#counted : rows.length, through: this.#through };
  }

  #cut(): void {
    this.#rows.sort((a, b) => a.arrival - b.arrival);
    if (this.#rows.length < this.#rowsMax) return;
    this.#rows.length = this.#rowsMax;
    this.#through = Math.min(this.#through, this.#rows.at(-1)?.arrival ?? this.#through);
  }
}
