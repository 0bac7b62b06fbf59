/** A bounded amount (bytes, places) that many holders share, so that none of them can take it away from the others. */

/** What one holder may take and give back. */
export interface Budget {
  /** Returns false and takes nothing where the holder would have too much. */
  take(amount: number): boolean;
  give(amount: number): void;
}

/**
 * A holder never has more than it leaves free. So one holder alone takes half at most; where several take all they can,
 * they have equal shares, and as much again is free for the next one.
 */
export class SharedBudget {
  readonly #max: number;
  /** Holders that have something. */
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The most that one holder can ever have. */
  get holderMax(): number {
    return this.#max / 2;
  }

  /** What all holders have together. */
  get total(): number {
    return this.#total;
  }

  /** Returns false and takes nothing where the holder would have more than is left free. */
  take(holder: string, amount: number): boolean {
    const held = (this.#held.get(holder) ?? 0) + amount;
    if (held > this.#max - this.#total - amount) return false;
    this.#held.set(holder, held);
    this.#total += amount;
    return true;
  }

  give(holder: string, amount: number): void {
    const held = (this.#held.get(holder) ?? 0) - amount;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
    this.#total -= amount;
  }

  /** The part of one holder. */
  of(holder: string): Budget {
    return {
      take: (amount) => this.take(holder, amount),
      give: (amount) => this.give(holder, amount),
    };
  }
}
