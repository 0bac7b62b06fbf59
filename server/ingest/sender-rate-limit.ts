/** Rate limits of senders: token buckets that may go into debt, so that even the largest body passes at some time. */

import { tryLater } from "../throttle/refusal.ts";
import type { SenderLimits } from "./admission-settings.ts";
import { rateLimitedSendersMax, senderBurstSeconds } from "./limits.ts";

export interface Load {
  rows: number;
  bytes: number;
}

export interface SenderRateLimiterOptions {
  limitsOf(sender: string): SenderLimits;
  /** Called for each refused body, with the limit that it exceeded. */
  onRefused(kind: keyof Load): void;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

/** A token bucket; a balance below 0 is debt. */
interface Bucket {
  balance: number;
  atMs: number;
}

const kinds = ["rows", "bytes"] as const satisfies readonly (keyof Load)[];

export class SenderRateLimiter {
  readonly #options: SenderRateLimiterOptions;
  readonly #buckets = new Map<string, Partial<Record<keyof Load, Bucket>>>();

  constructor(options: SenderRateLimiterOptions) {
    this.#options = options;
  }

  /** Throws Refusal 429 while a bucket of the sender, of rows or of bytes, has a balance of 0 or less. */
  check(sender: string): void {
    const limits = this.#options.limitsOf(sender);
    const waits = kinds.map((kind) => ({ kind, seconds: this.#computeWaitSeconds(sender, kind, limits) }));
    const longest = waits.reduce((a, b) => (b.seconds > a.seconds ? b : a));
    if (longest.seconds === 0) return;
    this.#options.onRefused(longest.kind);
    const perSecond = perSecondOf(limits, longest.kind);
    const allowed = `the sender's token may send ${perSecond} ${longest.kind} a second`;
    throw tryLater(`${allowed}: try again in ${longest.seconds} s`, longest.seconds, 429);
  }

  /** Takes a load from the sender's buckets. Throws Refusal 429, and takes nothing, while a balance is 0 or less. */
  spend(sender: string, load: Load): void {
    this.check(sender);
    this.#add(sender, { rows: -load.rows, bytes: -load.bytes });
  }

  /** Puts the load of a body that could not be stored back into the sender's buckets. */
  giveBack(sender: string, load: Load): void {
    this.#add(sender, load);
  }

  #add(sender: string, load: Load): void {
    const limits = this.#options.limitsOf(sender);
    const buckets = this.#buckets.get(sender) ?? {};
    for (const kind of kinds) {
      const perSecond = perSecondOf(limits, kind);
      if (perSecond === null) delete buckets[kind];
      else {
        const balance = Math.min(burstOf(perSecond), this.#balanceOf(sender, kind, perSecond) + load[kind]);
        buckets[kind] = { balance, atMs: this.#options.elapsed() };
      }
    }
    // Deleted and set again, so that the map begins with the sender that was active longest ago.
    this.#buckets.delete(sender);
    if (Object.keys(buckets).length === 0) return;
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= rateLimitedSendersMax && oldest !== undefined) this.#buckets.delete(oldest);
    this.#buckets.set(sender, buckets);
  }

  /** Whole seconds until the bucket's balance is above 0; 0 where it is already. */
  #computeWaitSeconds(sender: string, kind: keyof Load, limits: SenderLimits): number {
    const perSecond = perSecondOf(limits, kind);
    if (perSecond === null) return 0;
    const balance = this.#balanceOf(sender, kind, perSecond);
    return balance > 0 ? 0 : Math.floor(-balance / perSecond) + 1;
  }

  #balanceOf(sender: string, kind: keyof Load, perSecond: number): number {
    const bucket = this.#buckets.get(sender)?.[kind];
    if (bucket === undefined) return burstOf(perSecond);
    const earned = (Math.max(0, this.#options.elapsed() - bucket.atMs) / 1000) * perSecond;
    return Math.min(burstOf(perSecond), bucket.balance + earned);
  }
}

function perSecondOf(limits: SenderLimits, kind: keyof Load): number | null {
  return kind === "rows" ? limits.rowsPerSecond : limits.bytesPerSecond;
}

function burstOf(perSecond: number): number {
  return perSecond * senderBurstSeconds;
}
