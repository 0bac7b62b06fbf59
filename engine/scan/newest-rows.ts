/** The newest rows found so far, at most `limit`: newest first, ties in the order of arrival. */
import type { ChunkRef } from "../chunk/chunk-ref.ts";

export interface CandidateRow {
  day: number;
  timeNs: number;
  arrival: number;
  ref: ChunkRef;
  row: number;
  /** Attributes with what stages extracted; undefined where they are the stored ones. */
  attributes: Map<string, string> | undefined;
}

export class NewestRows {
  readonly #limit: number;
  #rows: CandidateRow[] = [];
  #worst: CandidateRow | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether a row of that time could still be among the newest. */
  admits(day: number, timeNs: number): boolean {
    const worst = this.#worst;
    return worst === undefined || day > worst.day || (day === worst.day && timeNs >= worst.timeNs);
  }

  add(candidate: CandidateRow): void {
    this.#rows.push(candidate);
    // The first full set gives a bound at once; later ones are cut when enough has gathered to pay for a sort.
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

export function compareNewestFirst(
  a: { day: number; timeNs: number; arrival: number },
  b: { day: number; timeNs: number; arrival: number },
): number {
  return b.day - a.day || b.timeNs - a.timeNs || a.arrival - b.arrival;
}
