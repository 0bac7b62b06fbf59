/**
 * A day of mixed load, by a clock that runs faster than time: after the first hours the server holds no more memory,
 * files, timers, handles and threads than before, and every row of the last hours is found.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { report, scaled, seed, seededRandom, soakMinutes } from "../../durability/campaign.ts";
import { openReceiver } from "../notify/receiver.ts";
import { bodySelectors, findRowFaults, makeBody, protocols, sendBody } from "./bodies.ts";
import { readDayClock } from "./day-clock.ts";
import { type Addressed, DayLoad } from "./day-load.ts";
import type { DayOrder, DayServer, Footprint } from "./day-server.ts";
import { campaignFolder } from "./folder.ts";
import { countsOf } from "./server-process.ts";

const folder = campaignFolder("compressed-day");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const runMs = scaled(15_000, soakMinutes(50) * 60_000);
/**
 * How many times as fast as time the clock runs: a whole day only in the long form. Above some 200 the time between two
 * ticks of the evaluator would count as downtime, and no alert would fire.
 */
const factor = scaled(100, dayMs / runMs);
/** Pauses in which the server is measured. */
const points = scaled(3, 48);
/** Rows up to this time before a pause must be found in it. */
const checkedBodies = 400;
/** The number of the first of the rows of earlier days: a multiple of the protocols, and above all others. */
const seedNumber = protocols * 1_000_000;
/** Connections that nobody uses are closed by then; none is before the first of these times. */
const [idleMsMin, idleMsMax] = [4_500, 15_000];
/** So long nothing was closed any more. */
const quietMs = 2_000;

/** How much more of each may be held in the last third than in the third before it: a share, and an amount. */
const growthMax: Record<Exclude<keyof Footprint, "errors">, { share: number; amount: number }> = {
  heapBytes: { share: 0.1, amount: 8 * 2 ** 20 },
  bufferBytes: { share: 0.1, amount: 16 * 2 ** 20 },
  residentBytes: { share: 0.15, amount: 64 * 2 ** 20 },
  files: { share: 0, amount: 12 },
  handles: { share: 0, amount: 2 },
  threads: { share: 0, amount: 2 },
};

test(
  "what a server holds is flat at the end of a day",
  async () => {
    const random = seededRandom("a compressed day");
    const receiver = await openReceiver(200);
    // Midnight comes early, while caches and files are still being filled.
    const startMs = Math.floor(Date.now() / dayMs) * dayMs - Math.floor((runMs * factor) / 12);
    const clock = { realStartMs: Date.now(), startMs, factor };
    const nowMs = () => readDayClock(clock);
    const limits = { retentionAgeMs: 2 * dayMs, retentionBytes: 48 * 2 ** 20 };
    const { server, child } = await startDayServer({ dir: join(folder, "data"), clock, ...limits });
    await seedDays(server, startMs);
    const load = new DayLoad(server, { random, nowMs, hookUrl: receiver.url });
    const footprints: Footprint[] = [];
    const lost: string[] = [];
    let heard = 0;
    for (let point = 0; point < points; point++) {
      await load.run(runMs / points);
      // Those of the first third are reported, and compared with nothing.
      const isCompared = point >= Math.floor(points / 3);
      footprints.push(await (isCompared ? measureIdle(child) : measure(child)));
      const checked = load.sent.slice(-checkedBodies);
      const startTime = Math.min(...checked.map(({ firstMs }) => firstMs));
      const range = { startTime, endTime: Math.floor(nowMs() + hourMs) };
      lost.push(...findRowFaults(checked, await countBatches(server, range)));
      heard += receiver.received.splice(0).length;
      report(describe(nowMs(), footprints.at(-1)!));
    }
    const ended = once(child, "close");
    child.kill("SIGTERM");
    const [code] = await ended;
    const grown = findGrowth(footprints);
    const acknowledged = load.sent.filter(({ isAcknowledged }) => isAcknowledged).length;
    report(
      `${((runMs * factor) / hourMs).toFixed(1)} hours in ${Math.round(runMs / 1000)} s (SVC_SEED=${seed}): tried ${JSON.stringify([...load.counts])}, ` +
        `${heard} notifications, ` +
        `survived ${acknowledged - lost.length} bodies, lost ${lost.length}; grown: ${grown.length}`,
    );
    expect([...lost, ...load.problems, ...grown, ...footprints.at(-1)!.errors]).toEqual([]);
    expect(heard).toBeGreaterThan(0);
    expect(code).toBe(0);
  },
  scaled(120_000, 2 * runMs + 600_000),
);

/** Rows of the days before, which retention removes at midnight. */
async function seedDays(server: Addressed, startMs: number): Promise<void> {
  for (let day = 1; day <= 3; day++) {
    const body = makeBody(seedNumber + day * protocols, startMs - day * dayMs);
    expect((await sendBody(server, body)).status).toBe(200);
  }
}

async function startDayServer(order: DayOrder): Promise<{ server: DayServer; child: ChildProcess }> {
  const child = fork(join(import.meta.dirname, "day-server.ts"), [JSON.stringify(order)], {
    execArgv: ["--expose-gc", "--import", join(import.meta.dirname, "../../bundled-layers.ts")],
  });
  const [server] = (await once(child, "message")) as [DayServer];
  return { server, child };
}

async function measure(child: ChildProcess): Promise<Footprint> {
  const answer = once(child, "message");
  child.send("measure");
  return (await answer)[0] as Footprint;
}

/** Measures until no connection is closed any more. Clients keep one that is idle for four seconds. */
async function measureIdle(child: ChildProcess): Promise<Footprint> {
  const untilMs = performance.now() + idleMsMax;
  await sleep(idleMsMin);
  let [last, changedMs] = [await measure(child), performance.now()];
  while (performance.now() < Math.min(untilMs, changedMs + quietMs)) {
    await sleep(200);
    const next = await measure(child);
    if (next.files < last.files || next.handles < last.handles) changedMs = performance.now();
    last = next;
  }
  return last;
}

/** By batch: the rows that are found in a range. An answer holds 10,000 series, and a day has more batches. */
async function countBatches(
  server: Addressed,
  range: { startTime: number; endTime: number },
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const selector of bodySelectors) {
    const found = await countsOf(server, `count(${selector}) by (batch)`, range);
    for (const [batch, count] of found) counts.set(batch, count);
  }
  return counts;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** What there is more of in the last third of the footprints than in the third before it. */
function findGrowth(footprints: readonly Footprint[]): string[] {
  const third = Math.floor(footprints.length / 3);
  const [middle, last] = [footprints.slice(-2 * third, -third), footprints.slice(-third)];
  return Object.entries(growthMax).flatMap(([name, { share, amount }]) => {
    const of = (each: Footprint) => each[name as keyof typeof growthMax];
    const [before, after] = [median(middle.map(of)), median(last.map(of))];
    return after > before * (1 + share) + amount ? [`${name}: ${before}, then ${after}`] : [];
  });
}

function describe(nowMs: number, footprint: Footprint): string {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const { heapBytes, bufferBytes, residentBytes, files, handles, threads } = footprint;
  return (
    `${new Date(nowMs).toISOString().slice(0, 16)}: heap ${mebibytes(heapBytes)}, buffers ${mebibytes(bufferBytes)}, ` +
    `resident ${mebibytes(residentBytes)}, ${files} files, ${handles} handles, ${threads} threads`
  );
}
