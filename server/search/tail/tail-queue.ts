/** The queue of rows of one tail. It has a bound; rows beyond it are missed and counted. */

import type { Budget } from "../../throttle/shared-budget.ts";
import { tailBytesWaitingMax, tailRowsWaitingMax } from "../limits.ts";
import type { Slice } from "./tail-events.ts";

/** Rows that the reader missed; it gets their number instead. */
interface Gap {
  /** Number of rows. */
  missed: number;
  /** Arrival number of the last one. */
  through: number;
}

export type QueuedItem = Slice | Gap;

/** The queue of one tail. */
export class TailQueue {
  /** Bounds the bytes in the queues of all tails of the caller. */
  readonly #budget: Budget;
  #items: QueuedItem[] = [];
  #rows = 0;
  #bytes = 0;
  /** Set by the first missed row until the queue is empty: a few long gaps say more than many short ones. */
  #isSkipping = false;

  readonly #onMissed: (rows: number) => void;

  constructor(budget: Budget, onMissed: (rows: number) => void) {
    this.#budget = budget;
    this.#onMissed = onMissed;
  }

  get isSkipping(): boolean {
    return this.#isSkipping;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** Adds arriving rows; those that do not fit are missed. */
  add(slices: readonly Slice[]): void {
    for (const slice of slices) {
      if (this.#isSkipping || !this.#reserve(slice)) this.addMissed(slice.rows, slice.through);
      else this.#items.push(slice);
    }
  }

  /**
   * Adds stored rows, all or none. Returns false where the queues of all tails together are full: stored rows are not
   * missed, but read again later.
   */
  addAll(slices: readonly Slice[]): boolean {
    const rows = slices.reduce((sum, slice) => sum + slice.rows, 0);
    const bytes = slices.reduce((sum, slice) => sum + slice.bytes, 0);
    if (!this.#budget.take(bytes)) return false;
    this.#rows += rows;
    this.#bytes += bytes;
    this.#items.push(...slices);
    return true;
  }

  /** Adds a gap of `rows` rows, or lengthens the last one. */
  addMissed(rows: number, through: number): void {
    if (rows === 0) return;
    this.#isSkipping = true;
    this.#onMissed(rows);
    const last = this.#items.at(-1);
    if (last !== undefined && "missed" in last) {
      last.missed += rows;
      last.through = through;
    } else this.#items.push({ missed: rows, through });
  }

  /** Removes and returns the first slice or gap. */
  next(): QueuedItem | undefined {
    const first = this.#items.shift();
    if (first !== undefined && "text" in first) this.#release(first);
    if (this.#items.length === 0) this.#isSkipping = false;
    return first;
  }

  clear(): void {
    while (this.next() !== undefined);
  }

  #reserve({ rows, bytes }: Slice): boolean {
    const fits = this.#rows + rows <= tailRowsWaitingMax && this.#bytes + bytes <= tailBytesWaitingMax;
    if ((!fits && this.#rows > 0) || !this.#budget.take(bytes)) return false;
    this.#rows += rows;
    this.#bytes += bytes;
    return true;
  }

  #release({ rows, bytes }: Slice): void {
    this.#rows -= rows;
    this.#bytes -= bytes;
    this.#budget.give(bytes);
  }
}
