/** Windows over more buckets, or with more points, than a query may hold: few points are answered, many refused. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";
import { queryTimeseries } from "../../../query/index.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-windows-"));
const endMs = Date.UTC(2026, 0, 10, 12);
const rows = 1_000;
let store: Store;

beforeAll(async () => {
  store = await openStore({ dir, threads: 1 });
  const all = Array.from({ length: rows }, (_, i) => ({
    timeNs: BigInt(endMs - 3_600_000 + i * 1_000) * 1_000_000n,
    ...{ level: "info", message: "m", attributes: { id: `i${i}` } },
  }));
  await store.append("logs", all);
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

function ask(query: string, startMs: number) {
  return queryTimeseries(store, { query, startMs, endMs: endMs - 1, bucketSeconds: 1 });
}

test("a window of few points is found among billions of buckets", async () => {
  const { series } = await ask("count(logs[5s])", 0);
  const points = series[0]!.points;
  // From the bucket of the first row to the fourth after the last one.
  expect(points.length).toBe(rows + 4);
  expect([points[0], points[4], points.at(-1)]).toEqual([
    [endMs - 3_600_000, 1],
    [endMs - 3_596_000, 5],
    [endMs - 3_600_000 + (rows + 3) * 1_000, 1],
  ]);
});

test("windows that are read one by one are refused where there are too many", async () => {
  await expect(ask("quantile(0.5, timestamp, logs[5s])", 0)).rejects.toThrow(
    "and may read 2000; take wider buckets",
  );
});

test("windows with more points than a query may hold are refused, not collected", async () => {
  await expect(ask("count(logs[1h]) by (id)", 0)).rejects.toThrow("more than 1000000 points");
  const { series } = await ask("count(logs[1m]) by (id)", 0);
  expect(series.map(({ points }) => points.length)).toEqual(Array.from({ length: rows }, () => 60));
});
