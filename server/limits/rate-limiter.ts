import { Refusal } from "./refusal.ts";

/** Callers and addresses whose rate is remembered, about 100 bytes each. */
export const pursesMax = 20_000;

interface Purse {
  left: number;
  atMs: number;
}

export interface RateBoundOptions {
  perSecond: number;
  /** What can be spent at once. */
  burst: number;
  /** What is bounded, for the sentence of the refusal: `changes`. */
  what: string;
  now: () => number;
}

/** So many of something a second for each key, and a stock of them at once (a token bucket). */
export class RateBound {
  readonly #options: RateBoundOptions;
  readonly #purses = new Map<string, Purse>();

  constructor(options: RateBoundOptions) {
    this.#options = options;
  }

  /** Throws Refusal 429 where all is spent. */
  spend(key: string): void {
    const { perSecond, what, now } = this.#options;
    const nowMs = now();
    const left = this.#left(this.#purses.get(key), nowMs);
    if (left < 1) {
      throw new Refusal(429, `more than ${perSecond} ${what} a second; try again`, {
        headers: { "Retry-After": "1" },
      });
    }
    // Set anew, so that the map begins with the one that spent longest ago, whose purse is the fullest.
    this.#purses.delete(key);
    const [oldest] = this.#purses.keys();
    if (this.#purses.size >= pursesMax && oldest !== undefined) this.#purses.delete(oldest);
    this.#purses.set(key, { left: left - 1, atMs: nowMs });
  }

  #left(purse: Purse | undefined, nowMs: number): number {
    const { perSecond, burst } = this.#options;
    if (purse === undefined) return burst;
    return Math.min(burst, purse.left + (Math.max(0, nowMs - purse.atMs) / 1000) * perSecond);
  }
}
