import type { Caller } from "../route.ts";
import { Refusal } from "../route.ts";

interface Purse {
  left: number;
  atMs: number;
}

/** So many changes a second for each caller, and a stock of them at once (a token bucket). */
export class RateBound {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #purses = new Map<string, Purse>();

  constructor(perSecond: number, burst: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
  }

  /** Throws Refusal 429 where the caller has spent all. */
  spend({ tokenId }: Caller): void {
    const nowMs = this.#now();
    const key = tokenId ?? "";
    const purse = this.#purses.get(key) ?? { left: this.#burst, atMs: nowMs };
    const earned = (Math.max(0, nowMs - purse.atMs) / 1000) * this.#perSecond;
    const left = Math.min(this.#burst, purse.left + earned);
    if (left < 1) {
      throw new Refusal(429, `more than ${this.#perSecond} changes a second; try again`, {
        headers: { "Retry-After": "1" },
      });
    }
    this.#purses.set(key, { left: left - 1, atMs: nowMs });
  }
}
