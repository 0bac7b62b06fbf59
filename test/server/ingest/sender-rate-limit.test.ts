/** Rate limits of senders against a naive loop over milliseconds. */

import { describe, expect, test } from "vitest";
import { senderBurstSeconds } from "../../../server/ingest/limits.ts";
import { SenderRateLimiter } from "../../../server/ingest/sender-rate-limit.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { oneOf, randomOf } from "../control/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** A token bucket that is refilled millisecond by millisecond. */
class NaiveBucket {
  balance: number;
  readonly #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.balance = perSecond * senderBurstSeconds;
  }

  pass(ms: number): void {
    const most = this.#perSecond * senderBurstSeconds;
    for (let i = 0; i < ms; i++) this.balance = Math.min(most, this.balance + this.#perSecond / 1000);
  }
}

function refusalOf(run: () => void): Refusal | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

describe(`rate limits of a sender (SVC_SEED=${seed})`, () => {
  test("take and refuse as the naive loop does, and a sender that waits for Retry-After passes", () => {
    const random = randomOf(seed);
    let refusals = 0;
    for (let round = 0; round < 40; round++) {
      // Multiples of 1000, so that the loop adds integers.
      const rowsPerSecond = oneOf([1_000, 5_000, 20_000], random);
      const bytesPerSecond = oneOf([null, 50_000, 1_000_000], random);
      let nowMs = 1_763_000_000_000;
      const refusedFor: string[] = [];
      const limiter = new SenderRateLimiter({
        limitsOf: () => ({ rowsPerSecond, bytesPerSecond }),
        onRefused: (what) => refusedFor.push(what),
        elapsed: () => nowMs,
      });
      const rows = new NaiveBucket(rowsPerSecond);
      const bytes = new NaiveBucket(bytesPerSecond ?? 1);
      const wait = (ms: number) => {
        nowMs += ms;
        rows.pass(ms);
        bytes.pass(ms);
      };
      for (let i = 0; i < 40; i++) {
        wait(Math.floor(random() * 4_000));
        const load = { rows: Math.floor(random() * 60_000), bytes: Math.floor(random() * 900_000) };
        const isFree = rows.balance > 0 && (bytesPerSecond === null || bytes.balance > 0);
        const refusal = refusalOf(() => limiter.spend("a", load));
        expect(refusal === undefined).toBe(isFree);
        expect(refusalOf(() => limiter.check("somebody else"))).toBe(undefined);
        if (refusal !== undefined) {
          refusals++;
          expect(refusal.status).toBe(429);
          const seconds = Number(refusal.headers["Retry-After"]);
          expect(seconds).toBeGreaterThanOrEqual(1);
          wait((seconds - 1) * 1000);
          const isStillDebt = rows.balance <= 0 || (bytesPerSecond !== null && bytes.balance <= 0);
          expect(isStillDebt).toBe(true);
          wait(1000);
          expect(refusalOf(() => limiter.spend("a", load))).toBe(undefined);
        }
        rows.balance -= load.rows;
        bytes.balance -= load.bytes;
      }
      expect(refusedFor.every((what) => what === "rows" || bytesPerSecond !== null)).toBe(true);
    }
    expect(refusals).toBeGreaterThan(100);
  });

  test("a body larger than the burst passes, and the load of a body that could not be stored is returned", () => {
    let nowMs = 0;
    const limits = { rowsPerSecond: 10 as number | null, bytesPerSecond: null };
    const limiter = new SenderRateLimiter({
      limitsOf: () => limits,
      onRefused: () => undefined,
      elapsed: () => nowMs,
    });
    limiter.spend("a", { rows: 1_000_000, bytes: 1 });
    expect(refusalOf(() => limiter.check("a"))?.headers).toEqual({ "Retry-After": "99991" });
    limiter.giveBack("a", { rows: 1_000_000, bytes: 1 });
    limiter.spend("a", { rows: 100, bytes: 1 });
    expect(refusalOf(() => limiter.spend("a", { rows: 1, bytes: 1 }))?.message).toBe(
      "the sender's token may send 10 rows a second: try again in 1 s",
    );
    limits.rowsPerSecond = null;
    limiter.spend("a", { rows: 1_000_000, bytes: 1 });
    limits.rowsPerSecond = 10;
    nowMs += 1;
    expect(refusalOf(() => limiter.check("a"))).toBe(undefined);
  });
});
