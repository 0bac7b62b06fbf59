/** The deadline of decoding is CPU time: a thread that waits for a busy machine uses none of it. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { divideMemory, ThreadClock } from "../../../engine/index.ts";
import { DecodePool } from "../../../server/ingest/decode-pool.ts";
import { makePlainTask } from "./decode-task.ts";

const isCounted = existsSync("/proc/thread-self/schedstat");

/** Starts threads that keep every core busy, until the test ends. */
async function keepBusy(threads: number): Promise<void> {
  const program = "require('node:worker_threads').parentPort.postMessage(0); for (;;);";
  const workers = Array.from({ length: threads }, () => new Worker(program, { eval: true }));
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.terminate()));
  });
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
}

function makePool(decodeMsMax: number, ended: string[]): DecodePool {
  const pool = new DecodePool({
    memory: divideMemory({ use: "server", decodeThreads: 1 }),
    decodeMsMax,
    onEnded: (cause) => ended.push(cause),
  });
  onTestFinished(() => pool.close());
  return pool;
}

/** A list that is not printed as JSON.stringify would: it is parsed and printed anew. */
const rows = Buffer.from(`{"message":"a","b":[ ${"1,".repeat(1_000_000)}12345678901234567890]}`);
const makeTask = () => ({
  ...makePlainTask(rows),
  content: { signal: "logs" as const },
  format: "json lines" as const,
  arrivalMs: 1e12,
});

test.skipIf(!isCounted)(
  "a body is refused by no deadline because others keep the machine busy",
  async () => {
    const ended: string[] = [];
    const idle = makePool(60_000, ended);
    await idle.decode(makeTask());
    const beganMs = performance.now();
    await idle.decode(makeTask());
    const idleMs = performance.now() - beganMs;
    await keepBusy(3 * availableParallelism());
    const busy = makePool(2 * idleMs, ended);
    expect((await busy.decode(makeTask())).ok).toBe(true);
    expect(ended).toEqual([]);
  },
  60_000,
);

test("a body that takes more than the deadline is refused on a busy machine as well", async () => {
  await keepBusy(availableParallelism());
  const ended: string[] = [];
  const pool = makePool(50, ended);
  await expect(pool.decode(makeTask())).rejects.toMatchObject({ status: 413 });
  expect(ended).toEqual(["time"]);
}, 60_000);

test.skipIf(!isCounted)("a thread that waits uses no CPU time", async () => {
  const program = `
    const { readlinkSync } = require("node:fs");
    const { parentPort } = require("node:worker_threads");
    parentPort.postMessage(readlinkSync("/proc/thread-self"));
    parentPort.once("message", () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      parentPort.postMessage("waited");
      for (const endMs = performance.now() + 300; performance.now() < endMs; );
      parentPort.postMessage("worked");
      setTimeout(() => undefined, 60_000);
    });
  `;
  const worker = new Worker(program, { eval: true });
  onTestFinished(() => void worker.terminate());
  const next = () => new Promise<string>((resolve) => worker.once("message", resolve));
  const clock = new ThreadClock(await next());
  onTestFinished(() => clock.close());
  const began = clock.nowMs();
  worker.postMessage("go");
  await next();
  const waited = clock.nowMs();
  expect(waited - began).toBeLessThan(150);
  await next();
  expect(clock.nowMs()).toBeGreaterThan(waited);
});
