/** Rows that wait for one reader, up to a bound; beyond it they are missed, and counted. */

import type { ByteBudget } from "../limits/byte-budget.ts";
import { tailBytesWaitingMax, tailRowsWaitingMax } from "./limits.ts";
import type { Slice } from "./tail-events.ts";

/** Rows in the place of which the reader is told their number. */
interface Gap {
  missed: number;
  through: number;
}

export type Queued = Slice | Gap;

export class TailQueue {
  /** Of all tails. */
  readonly #budget: ByteBudget;
  #queued: Queued[] = [];
  #rows = 0;
  #bytes = 0;
  /** Rows are missed until the reader has caught up: few long gaps tell more than many short ones. */
  #isMissing = false;

  readonly #onMissed: (rows: number) => void;

  constructor(budget: ByteBudget, onMissed: (rows: number) => void) {
    this.#budget = budget;
    this.#onMissed = onMissed;
  }

  get isMissing(): boolean {
    return this.#isMissing;
  }

  get isEmpty(): boolean {
    return this.#queued.length === 0;
  }

  add(slices: readonly Slice[]): void {
    for (const slice of slices) {
      if (this.#isMissing || !this.#take(slice)) this.miss(slice.rows, slice.through);
      else this.#queued.push(slice);
    }
  }

  /** Takes all or, where all tails together hold too much already, none: what is stored is not missed, but read later. */
  addAll(slices: readonly Slice[]): boolean {
    const rows = slices.reduce((sum, slice) => sum + slice.rows, 0);
    const bytes = slices.reduce((sum, slice) => sum + slice.bytes, 0);
    if (!this.#budget.take(bytes)) return false;
    this.#rows += rows;
    this.#bytes += bytes;
    this.#queued.push(...slices);
    return true;
  }

  /** Counts rows that the reader does not get. */
  miss(rows: number, through: number): void {
    if (rows === 0) return;
    this.#isMissing = true;
    this.#onMissed(rows);
    const last = this.#queued.at(-1);
    if (last !== undefined && "missed" in last) {
      last.missed += rows;
      last.through = through;
    } else this.#queued.push({ missed: rows, through });
  }

  next(): Queued | undefined {
    const first = this.#queued.shift();
    if (first !== undefined && "text" in first) this.#give(first);
    if (this.#queued.length === 0) this.#isMissing = false;
    return first;
  }

  clear(): void {
    while (this.next() !== undefined);
  }

  #take({ rows, bytes }: Slice): boolean {
    const fits = this.#rows + rows <= tailRowsWaitingMax && this.#bytes + bytes <= tailBytesWaitingMax;
    if ((!fits && this.#rows > 0) || !this.#budget.take(bytes)) return false;
    this.#rows += rows;
    this.#bytes += bytes;
    return true;
  }

  #give({ rows, bytes }: Slice): void {
    this.#rows -= rows;
    this.#bytes -= bytes;
    this.#budget.give(bytes);
  }
}
