/** Statistics of the samples of a series, by bucket, over days and parts, against plain loops. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore, type SampleStatistic, type Store, textAt } from "../../../engine/index.ts";

const dir = mkdtempSync(join(tmpdir(), "svc-statistics-"));
const startMs = Date.UTC(2026, 10, 19, 23, 40);
const everyMs = 7_130;
const bucketMs = 600_000;
// A level far from zero, on which short waves ride: sums of squares would lose their digits.
const levelAt = (i: number) => (i % 50 === 49 ? Number.NaN : 1e6 + Math.round(Math.sin(i / 3) * 4) / 4);
const samples = Array.from({ length: 700 }, (_, i) => ({ ms: startMs + i * everyMs, value: levelAt(i) }));
let store: Store;

beforeAll(async () => {
  store = await openStore({ dir, threads: 2, now: () => startMs + 86_400_000 });
  const all = samples.flatMap(({ ms, value }) =>
    ["a", "b"].map((pod) => {
      const sign = pod === "a" ? 1 : -1;
      return {
        ...{ timeNs: BigInt(ms) * 1_000_000n, name: "level", type: "counter" as const, unit: "" },
        ...{ labels: { pod }, value: value * sign },
      };
    }),
  );
  // The last third comes first, and the rest in two parts.
  await store.appendSamples(all.slice(900));
  await store.seal();
  await store.appendSamples(all.slice(0, 500));
  await store.appendSamples(all.slice(500, 900));
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

const statistics: SampleStatistic[] = [
  ...(["count", "sum", "min", "max", "mean", "squares", "changes"] as const),
  ...(["first", "firstTime", "last", "lastTime", "meanTime", "timeSquares", "products"] as const),
];

/** The statistics in the order of `statistics`. */
function compute(own: typeof samples): number[] {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const values = own.map(({ value }) => value);
  const times = own.map(({ ms }) => ms - startMs);
  const base = values[0]!;
  const mean = base + sum(values.map((value) => value - base)) / values.length;
  const meanTime = sum(times) / times.length;
  const changes = values.filter((value, i) => i > 0 && value !== values[i - 1]).length;
  return [
    ...[values.length, sum(values), Math.min(...values), Math.max(...values), mean],
    ...[sum(values.map((value) => (value - mean) ** 2)), changes],
    ...[base, times[0]!, values.at(-1)!, times.at(-1)!, meanTime],
    sum(times.map((time) => (time - meanTime) ** 2)),
    sum(values.map((value, i) => (value - mean) * (times[i]! - meanTime))),
  ];
}

test("statistics are those of the samples as they were sent, whatever their type", async () => {
  const { groups, labels, points } = await store.aggregateSamples({
    ...{
      name: "level",
      fromNs: BigInt(startMs) * 1_000_000n,
      toNs: BigInt(startMs + 7_200_000) * 1_000_000n,
    },
    ...{ bucketNs: BigInt(bucketMs) * 1_000_000n, steps: [], groupBy: { without: [] }, of: "value" },
    aggregate: { op: "statistics", of: statistics },
  });
  expect(groups).toBe(2);
  const kept = samples.filter(({ value }) => !Number.isNaN(value));
  const buckets = Map.groupBy(kept, ({ ms }) => Math.floor((ms - startMs) / bucketMs));
  expect(points.groups.length).toBe(2 * buckets.size);
  for (const [point, group] of points.groups.entries()) {
    const sign = textAt(labels, group).includes('"a"') ? 1 : -1;
    const own = buckets.get(points.buckets[point]!)!.map(({ ms, value }) => ({ ms, value: value * sign }));
    const wanted = compute(own);
    for (const [i, name] of statistics.entries()) {
      const size = Math.max(1, Math.abs(wanted[i]!));
      expect(Math.abs(points.values[i]![point]! - wanted[i]!) / size, name).toBeLessThan(1e-6);
    }
  }
});

test("statistics of groups of series are refused", async () => {
  const asked = store.aggregateSamples({
    ...{ name: "level", fromNs: 0n, toNs: 1n, steps: [], groupBy: { without: ["pod"] }, of: "value" },
    aggregate: { op: "statistics", of: ["count"] },
  });
  await expect(asked).rejects.toThrow("statistics are of single series");
});
