/** Limits of senders against a loop over milliseconds. */

import { describe, expect, test } from "vitest";
import { senderBurstSeconds } from "../../../server/ingest/limits.ts";
import { SenderRateLimiter } from "../../../server/ingest/sender-rate-limit.ts";
import { Refusal } from "../../../server/limits/refusal.ts";
import { oneOf, randomOf } from "../control/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** What is left, millisecond by millisecond. */
class NaiveBucket {
  left: number;
  readonly #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.left = perSecond * senderBurstSeconds;
  }

  pass(ms: number): void {
    const most = this.#perSecond * senderBurstSeconds;
    for (let i = 0; i < ms; i++) this.left = Math.min(most, this.left + this.#perSecond / 1000);
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

describe(`a token's limits (SVC_SEED=${seed})`, () => {
  test("take and refuse as a loop does, and what waits as long as it is told passes", () => {
    const random = randomOf(seed);
    let refusals = 0;
    for (let round = 0; round < 40; round++) {
      // Multiples of 1000, so that the loop adds whole numbers.
      const rowsPerSecond = oneOf([1_000, 5_000, 20_000], random);
      const bytesPerSecond = oneOf([null, 50_000, 1_000_000], random);
      let nowMs = 1_763_000_000_000;
      const refusedFor: string[] = [];
      const allowances = new SenderRateLimiter({
        limitsOf: () => ({ rowsPerSecond, bytesPerSecond }),
        onRefused: (what) => refusedFor.push(what),
        now: () => nowMs,
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
        const isFree = rows.left > 0 && (bytesPerSecond === null || bytes.left > 0);
        const refusal = refusalOf(() => allowances.spend("a", load));
        expect(refusal === undefined).toBe(isFree);
        expect(refusalOf(() => allowances.check("somebody else"))).toBe(undefined);
        if (refusal !== undefined) {
          refusals++;
          expect(refusal.status).toBe(429);
          const seconds = Number(refusal.headers["Retry-After"]);
          expect(seconds).toBeGreaterThanOrEqual(1);
          wait((seconds - 1) * 1000);
          const isStillDebt = rows.left <= 0 || (bytesPerSecond !== null && bytes.left <= 0);
          expect(isStillDebt).toBe(true);
          wait(1000);
          expect(refusalOf(() => allowances.spend("a", load))).toBe(undefined);
        }
        rows.left -= load.rows;
        bytes.left -= load.bytes;
      }
      expect(refusedFor.every((what) => what === "rows" || bytesPerSecond !== null)).toBe(true);
    }
    expect(refusals).toBeGreaterThan(100);
  });

  test("a body larger than all that may be sent at once passes, and what could not be stored is given back", () => {
    let nowMs = 0;
    const limits = { rowsPerSecond: 10 as number | null, bytesPerSecond: null };
    const allowances = new SenderRateLimiter({
      limitsOf: () => limits,
      onRefused: () => undefined,
      now: () => nowMs,
    });
    allowances.spend("a", { rows: 1_000_000, bytes: 1 });
    expect(refusalOf(() => allowances.check("a"))?.headers).toEqual({ "Retry-After": "99991" });
    allowances.giveBack("a", { rows: 1_000_000, bytes: 1 });
    allowances.spend("a", { rows: 100, bytes: 1 });
    expect(refusalOf(() => allowances.spend("a", { rows: 1, bytes: 1 }))?.message).toBe(
      "the sender's token may send 10 rows a second: try again in 1 s",
    );
    limits.rowsPerSecond = null;
    allowances.spend("a", { rows: 1_000_000, bytes: 1 });
    limits.rowsPerSecond = 10;
    nowMs += 1;
    expect(refusalOf(() => allowances.check("a"))).toBe(undefined);
  });
});
