/** A rate limiter for requests, changes and failures. */

import { tryLater } from "./refusal.ts";

/** Largest number of token buckets in memory, one for each caller or address; each takes about 100 bytes. */
export const rateLimitedKeysMax = 20_000;

interface TokenBucket {
  tokens: number;
  atMs: number;
}

export interface RateLimiterOptions {
  perSecond: number;
  /** Capacity of a bucket: what can be spent at once. */
  burst: number;
  /** Noun for the refusal's sentence: `changes`. */
  what: string;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

/** A rate limiter with a token bucket for each key: `perSecond` tokens are added up to `burst`. */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** Takes one token of the key's bucket. Throws Refusal 429 where it is empty. */
  spend(key: string): void {
    const { perSecond, what, elapsed } = this.#options;
    const nowMs = elapsed();
    const tokens = this.#currentTokens(this.#buckets.get(key), nowMs);
    if (tokens < 1) {
      throw tryLater(`more than ${perSecond} ${what} a second; try again`, 1, 429);
    }
    // Inserted again, so that the map begins with the bucket that was used longest ago, which is the fullest.
    this.#buckets.delete(key);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= rateLimitedKeysMax && oldest !== undefined) this.#buckets.delete(oldest);
    this.#buckets.set(key, { tokens: tokens - 1, atMs: nowMs });
  }

  #currentTokens(bucket: TokenBucket | undefined, nowMs: number): number {
    const { perSecond, burst } = this.#options;
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * perSecond);
  }
}
