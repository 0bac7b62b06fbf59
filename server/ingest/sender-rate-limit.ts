/** How much each sender may send a second: token buckets that may go into debt, so that a body of any size passes some time. */

import { Refusal } from "../limits/refusal.ts";
import type { SenderLimits } from "./admission-settings.ts";
import { rateLimitedSendersMax, senderBurstSeconds } from "./limits.ts";

export interface Load {
  rows: number;
  bytes: number;
}

export interface SenderRateLimiterOptions {
  limitsOf(sender: string): SenderLimits;
  /** Called for each body that is refused, with what there was too much of. */
  onRefused(what: keyof Load): void;
  now: () => number;
}

/** What is left; below 0 is debt. */
interface Bucket {
  left: number;
  atMs: number;
}

const kinds = ["rows", "bytes"] as const satisfies readonly (keyof Load)[];

export class SenderRateLimiter {
  readonly #options: SenderRateLimiterOptions;
  readonly #buckets = new Map<string, Partial<Record<keyof Load, Bucket>>>();

  constructor(options: SenderRateLimiterOptions) {
    this.#options = options;
  }

  /** Throws Refusal 429 while the sender has nothing left. */
  check(sender: string): void {
    const limits = this.#options.limitsOf(sender);
    const waits = kinds.map((kind) => ({ kind, seconds: this.#waitSeconds(sender, kind, limits) }));
    const longest = waits.reduce((a, b) => (b.seconds > a.seconds ? b : a));
    if (longest.seconds === 0) return;
    this.#options.onRefused(longest.kind);
    const perSecond = perSecondOf(limits, longest.kind);
    throw new Refusal(
      429,
      `the sender's token may send ${perSecond} ${longest.kind} a second: try again in ${longest.seconds} s`,
      { headers: { "Retry-After": String(longest.seconds) } },
    );
  }

  /** Takes a load from what is left. Throws Refusal 429, and takes nothing, while nothing is left. */
  spend(sender: string, load: Load): void {
    this.check(sender);
    this.#add(sender, { rows: -load.rows, bytes: -load.bytes });
  }

  /** Gives back what was spent on a load that could not be stored. */
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
        const left = Math.min(burstOf(perSecond), this.#left(sender, kind, perSecond) + load[kind]);
        buckets[kind] = { left, atMs: this.#options.now() };
      }
    }
    // Set anew, so that the map begins with the sender that was seen longest ago.
    this.#buckets.delete(sender);
    if (Object.keys(buckets).length === 0) return;
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= rateLimitedSendersMax && oldest !== undefined) this.#buckets.delete(oldest);
    this.#buckets.set(sender, buckets);
  }

  /** Whole seconds after which something is left; 0 where it is now. */
  #waitSeconds(sender: string, kind: keyof Load, limits: SenderLimits): number {
    const perSecond = perSecondOf(limits, kind);
    if (perSecond === null) return 0;
    const left = this.#left(sender, kind, perSecond);
    return left > 0 ? 0 : Math.floor(-left / perSecond) + 1;
  }

  #left(sender: string, kind: keyof Load, perSecond: number): number {
    const bucket = this.#buckets.get(sender)?.[kind];
    if (bucket === undefined) return burstOf(perSecond);
    const earned = (Math.max(0, this.#options.now() - bucket.atMs) / 1000) * perSecond;
    return Math.min(burstOf(perSecond), bucket.left + earned);
  }
}

function perSecondOf(limits: SenderLimits, kind: keyof Load): number | null {
  return kind === "rows" ? limits.rowsPerSecond : limits.bytesPerSecond;
}

function burstOf(perSecond: number): number {
  return perSecond * senderBurstSeconds;
}
