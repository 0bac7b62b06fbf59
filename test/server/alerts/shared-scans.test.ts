import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { queryTimeseries } from "../../../query/index.ts";
import { SharedScans } from "../../../server/alerts/query/shared-scans.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 10, 12);
const services = Array.from({ length: 12 }, (_, i) => `s${i}`);
const levels = ["error", "ERR", "WARN", "info", ""];

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-scans-"));
  store = await openStore({ dir, threads: 1 });
  const random = new Random(seed);
  const rows = Array.from({ length: 4_000 }, () => {
    const service = random.oneIn(6) ? {} : { "service.name": random.pick(services) };
    const message = random.oneIn(5)
      ? `{"service.name": "${random.pick(services)}"}`
      : `took ${random.below(50)} ms`;
    return {
      timeNs: BigInt(startMs + random.below(300_000)) * 1_000_000n,
      level: random.pick(levels),
      message,
      attributes: { ...service, ms: String(random.below(1_000)), pod: `p${random.below(3)}` },
    };
  });
  await store.append("logs", rows);
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Many queries of each form, which differ in texts alone. */
function queries(random: Random): string[] {
  const forms = [
    (s: string, l: string) => `count(logs{service.name="${s}", log_level="${l}"})`,
    (s: string) => `count(logs{service.name="${s}"}) by (pod)`,
    (s: string) => `count(logs{service.name="${s}"}) by (service.name)`,
    (s: string) => `avg(ms, logs{service.name="${s}"} |= "took")`,
    (s: string) => `quantile(0.9, ms, logs{service.name="${s}"})`,
    (s: string) => `count(logs{service.name="${s}"} | json)`,
    (s: string) => `count(logs{pod="p1"} | json | service_name="${s}")`,
    (s: string, l: string) =>
      `count(logs{log_level="${l}", service.name="${s}"}) / count(logs{service.name="${s}"})`,
    (s: string) => `count(logs{service.name="${s}", service.name!="s1"})`,
  ];
  const names = [...services, "", "absent"];
  return forms.flatMap((form) =>
    Array.from({ length: 12 }, () => form(random.pick(names), random.pick(levels).toLowerCase())),
  );
}

test(`merged scans answer each query as it is answered alone (SVC_SEED=${seed})`, async () => {
  const metrics = new Metrics();
  const shared = new SharedScans(store, metrics);
  const asked = queries(new Random(seed, 1)).map((query) => ({
    query,
    startMs,
    endMs: startMs + 299_999,
    bucketSeconds: 60,
  }));
  const together = await Promise.all(asked.map((each) => queryTimeseries(shared, each)));
  for (const [i, each] of asked.entries()) {
    expect(together[i]!.series, each.query).toEqual((await queryTimeseries(store, each)).series);
  }
  expect(together.some(({ series }) => series.length > 1)).toBe(true);
  const merged = /svc_alert_scans_total\{run="merged"\} (\d+)/.exec(metrics.text())?.[1];
  expect(Number(merged)).toBeGreaterThan(30);
});

test("a scan shares the answer of an equal one until a row comes that it reads", async () => {
  const metrics = new Metrics();
  const shared = new SharedScans(store, metrics);
  const fromMs = startMs + 3_600_000;
  const appendAt = async (ms: number) => {
    const timeNs = BigInt(ms) * 1_000_000n;
    const labels = { pod: "p0" };
    await store.append("logs", [{ timeNs, level: "info", message: "m", attributes: labels }]);
    await store.appendSamples([{ timeNs, name: "load", type: "gauge", unit: "", value: 1, labels }]);
  };
  const ask = async (query: string) => {
    const asked = { query, startMs: fromMs, endMs: fromMs + 59_999, bucketSeconds: 60 };
    const { series } = await queryTimeseries(shared, asked);
    expect(series).toEqual((await queryTimeseries(store, asked)).series);
    return series[0]!.points[0]![1];
  };
  const sharedScans = () =>
    Number(/svc_alert_scans_total\{run="shared"\} (\d+)/.exec(metrics.text())?.[1] ?? 0);
  const queries = ["count(logs)", "sum(sum_over_time(load[1m]))"];
  const askAll = async () => {
    const found: number[] = [];
    for (const query of queries) found.push(await ask(query));
    return found;
  };
  await appendAt(fromMs + 1_000);
  expect(await askAll()).toEqual([1, 1]);
  expect(sharedScans()).toBe(0);
  // Rows after the end of the bucket do not matter.
  await appendAt(fromMs + 60_000);
  expect(await askAll()).toEqual([1, 1]);
  expect(sharedScans()).toBe(2);
  await appendAt(fromMs + 59_999);
  expect(await askAll()).toEqual([2, 2]);
  expect(sharedScans()).toBe(2);
  await Promise.all(queries.map(ask));
  expect(sharedScans()).toBe(4);
});

test("what goes wrong together goes wrong for each, and nothing waits for ever", async () => {
  const broken = Object.assign(Object.create(store) as Store, {
    aggregate: () => Promise.reject(new Error("the disk is gone")),
  });
  const shared = new SharedScans(broken, new Metrics());
  const asked = services.map((name) => {
    return queryTimeseries(shared, {
      query: `count(logs{service.name="${name}"})`,
      startMs,
      endMs: startMs + 59_999,
      bucketSeconds: 60,
    });
  });
  const ends = await Promise.allSettled(asked);
  expect(ends.map(({ status }) => status)).toEqual(services.map(() => "rejected"));
});
