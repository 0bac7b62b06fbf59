import { Refusal } from "./refusal.ts";

/** Callers and addresses whose rate is remembered, about 100 bytes each. */
export const rateLimitedKeysMax = 20_000;

interface TokenBucket {
  left: number;
  atMs: number;
}

export interface RateLimiterOptions {
  perSecond: number;
  /** What can be spent at once. */
  burst: number;
  /** What is bounded, for the sentence of the refusal: `changes`. */
  what: string;
  now: () => number;
}

/** So many of something a second for each key, and a stock of them at once (a token bucket). */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** Throws Refusal 429 where all is spent. */
  spend(key: string): void {
    const { perSecond, what, now } = this.#options;
    const nowMs = now();
    const left = this.#left(this.#buckets.get(key), nowMs);
    if (left < 1) {
      throw new Refusal(429, `more than ${perSecond} ${what} a second; try again`, {
        headers: { "Retry-After": "1" },
      });
    }
    // Set anew, so that the map begins with the one that spent longest ago, whose bucket is the fullest.
    this.#buckets.delete(key);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= rateLimitedKeysMax && oldest !== undefined) this.#buckets.delete(oldest);
    this.#buckets.set(key, { left: left - 1, atMs: nowMs });
  }

  #left(bucket: TokenBucket | undefined, nowMs: number): number {
    const { perSecond, burst } = this.#options;
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.left + (Math.max(0, nowMs - bucket.atMs) / 1000) * perSecond);
  }
}
