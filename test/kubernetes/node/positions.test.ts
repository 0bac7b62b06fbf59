/** Positions on a disk that fails for a while: what was acknowledged stays so, and batches go on. */

import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BatchSender } from "../../../server/kubernetes/node/batch-sender.ts";
import type { TailContext } from "../../../server/kubernetes/node/container-folder.ts";
import { journalBytesMax } from "../../../server/kubernetes/node/limits.ts";
import type { BatchPlan, TailBatch } from "../../../server/kubernetes/node/log-batch.ts";
import { Positions } from "../../../server/kubernetes/node/positions.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-positions-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A plan that takes more of the journal than it may have before it is written anew. */
function makePlan(at: number): BatchPlan {
  const path = "x".repeat(journalBytesMax / 100);
  const ranges = Array.from({ length: 101 }, (_, i) => ({
    from: [0, 0] as const,
    position: {
      ...{ id: `file-${i}`, path, dev: 1, ino: i, truncations: 0 },
      ...{ head: { length: 0, hash: "" }, at: [at, at] as const },
    },
  }));
  return { key: `k${at}`, ranges } as unknown as BatchPlan;
}

test("a journal that cannot be written anew holds up no batch that is done", async () => {
  const warnings: string[] = [];
  const positions = await Positions.open(dir, (message) => void warnings.push(message));
  const counts = { batches: 0, rows: 0, retries: 0 };
  const context = {
    counts,
    warn: (message: string) => void warnings.push(message),
  } as unknown as TailContext;
  const ending = new AbortController();
  const sent: string[] = [];
  const sender = new BatchSender(
    context,
    positions,
    async ({ key }: TailBatch) => void sent.push(key),
    ending.signal,
  );
  const send = (at: number) => {
    sender.send(makePlan(at), { key: `k${at}`, rows: [{}] } as unknown as TailBatch, () => undefined);
    return sender.idle();
  };
  // Where the new journal should stand, no file can be made.
  const obstacle = join(dir, "positions.new");
  mkdirSync(obstacle);
  await send(1);
  expect([counts.batches, counts.retries, positions.sending]).toEqual([1, 0, undefined]);
  // The next batch waits for the disk, says so, and goes on with it.
  const next = send(2);
  await expect.poll(() => warnings.length, { timeout: 5_000 }).toBeGreaterThan(0);
  expect(warnings[0]).toContain("a batch of logs waits");
  rmdirSync(obstacle);
  await next;
  expect([sent, counts.batches]).toEqual([["k1", "k2"], 2]);
  await positions.close();
  const reopened = await Positions.open(dir, (message) => void warnings.push(message));
  expect([...reopened.files].map(({ at }) => at[0])).toEqual(Array(101).fill(2));
  expect(reopened.sending).toBeUndefined();
  await reopened.close();
});
