/** Windows that are evaluated again and again over a store that grows: as if each was evaluated from nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { queryTimeseries } from "../../../query/index.ts";
import { SharedScans } from "../../../server/alerts/query/shared-scans.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const rounds = process.env.SVC_SOAK === "1" ? 2_000 : 60;
const startMs = Date.UTC(2026, 0, 10, 12);
const bucketMs = 10_000;
const queries = [
  "sum(rate(logs[1m])) by (pod)",
  'count(logs{log_level="error"} [30s]) by (service.name)',
  "max(ms, logs[50s]) by (pod)",
  "avg(ms, logs[40s]) by (pod)",
  "count_distinct(pod, logs[40s])",
  "quantile(0.9, ms, logs[30s])",
  'count(logs{pod="p1"} [30s]) / count(logs[1m])',
  "count(logs [30s] offset 20s) by (pod)",
  "sum(rate(requests[1m])) by (pod)",
  "sum(increase(requests[30s]))",
  "max(avg_over_time(load[40s])) by (pod)",
  "sum(last_over_time(load[30s])) by (pod)",
  "avg(quantile_over_time(0.5, load[1m]))",
  "sum(rate(requests[40s])) without (service.name)",
];

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-known-"));
  store = await openStore({ dir, threads: 1 });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Rows and samples of a bucket, and some that are late. */
async function append(random: Random, bucket: number): Promise<void> {
  const timeOf = () => {
    const late = random.oneIn(40) ? random.below(12) * bucketMs : 0;
    return BigInt(startMs + bucket * bucketMs + random.below(bucketMs) - late) * 1_000_000n;
  };
  const labels = () => ({ pod: `p${random.below(3)}`, "service.name": `s${random.below(2)}` });
  const rows = Array.from({ length: random.below(12) }, () => ({
    ...{ timeNs: timeOf(), level: random.pick(["error", "info", ""]), message: "m" },
    attributes: { ...labels(), ms: String(random.below(100)) },
  }));
  const samples = Array.from({ length: random.below(10) }, () => ({
    ...{ timeNs: timeOf(), unit: "", labels: labels() },
    ...random.pick([
      { name: "requests", type: "counter" as const, value: bucket * 10 + random.below(10) },
      { name: "load", type: "gauge" as const, value: random.below(50) },
    ]),
  }));
  await store.append("logs", rows);
  await store.appendSamples(samples);
  if (random.oneIn(8)) await store.seal();
}

test(`each evaluation is as if it was the first (SVC_SEED=${seed})`, { timeout: 600_000 }, async () => {
  const random = new Random(seed);
  const metrics = new Metrics();
  const shared = new SharedScans(store, metrics);
  let pointsSeen = 0;
  const realNow = performance.now.bind(performance);
  for (let bucket = 0; bucket < rounds; bucket++) {
    // Equal scans share a result for some seconds.
    vi.spyOn(performance, "now").mockImplementation(() => realNow() + bucket * bucketMs);
    await append(random, bucket);
    for (const query of queries) {
      // Some evaluations are left out, and read two buckets later.
      if (random.oneIn(5)) continue;
      const first = bucket - random.below(2);
      const asked = {
        ...{ query, bucketSeconds: bucketMs / 1_000 },
        ...{ startMs: startMs + first * bucketMs, endMs: startMs + (bucket + 1) * bucketMs - 1 },
      };
      const { series } = await queryTimeseries(shared, asked);
      const { series: fromNothing } = await queryTimeseries(store, asked);
      expect(series, `${query} in bucket ${bucket}`).toEqual(fromNothing);
      pointsSeen += series.length;
    }
  }
  expect(pointsSeen).toBeGreaterThan(rounds);
});

test("an evaluation reads what the one before has not read, and rows that came late", async () => {
  const scanned: number[] = [];
  const counting = Object.assign(Object.create(null), {
    ...{ arrivalMax: 7, oldestArrivedMs: () => lateMs, attributeKeys: () => ({ keys: [], isWhole: false }) },
    aggregate: async (...[query, limits]: Parameters<Store["aggregate"]>) => {
      scanned.push(Number(query.toNs - query.fromNs) / 1e9);
      return store.aggregate(query, limits);
    },
  }) as Store;
  let lateMs: number | undefined;
  const shared = new SharedScans(counting, new Metrics());
  const evaluate = (bucket: number) =>
    queryTimeseries(shared, {
      ...{ query: "sum(rate(logs[10m])) by (pod)", bucketSeconds: 60 },
      ...{ startMs: startMs + bucket * 60_000, endMs: startMs + (bucket + 1) * 60_000 - 1 },
    });
  await evaluate(20);
  await evaluate(21);
  lateMs = startMs + 15 * 60_000 + 1;
  await evaluate(22);
  lateMs = undefined;
  await evaluate(25);
  // Ten minutes at first, one for the next, eight from the late row on, three after a pause.
  expect(scanned).toEqual([600, 60, 480, 180]);
});
