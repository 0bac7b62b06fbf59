/** Queries of every slow form end soon after their deadline, and the store answers others right after. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Failure, openStore, type Step, type Store } from "../../engine/index.ts";
import {
  planLogs,
  queryComparison,
  queryFields,
  queryHistogram,
  queryLabels,
  queryPatterns,
  queryTimeseries,
  queryValues,
} from "../../query/index.ts";

const deadlineMs = 50;
/** Work on one chunk may begin before the deadline and end after it. A thread that works on is ended after 5 s. */
const endMsMax = 4_000;
const rows = 40_000;
const startMs = Date.parse("2026-11-20T00:00:00Z");
const range = { startMs, endMs: startMs + rows };
const all = { ...range, signal: "logs" as const, prefix: "", limit: 100 };

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-slow-"));
  store = await openStore({ dir, threads: 2, now: () => startMs + rows });
  const timeNs = (i: number) => BigInt(startMs + i) * 1_000_000n;
  for (let from = 0; from < rows; from += 20_000) {
    const numbers = Array.from({ length: 20_000 }, (_, i) => from + i);
    await store.append(
      "logs",
      numbers.map((i) => ({
        timeNs: timeNs(i),
        level: "info",
        message: `${"abcdefgh".repeat(8)} {"id":${i},"of":{"b":"${i % 100}"}} took ${i} ms`,
        attributes: {
          id: `id-${(i * 7_919) % rows}`,
          tenth: `${i % 12_000}`,
          n: `${i}`,
          [`key${i % 500}`]: "v",
        },
      })),
    );
    await store.appendSamples(
      numbers.map((i) => {
        const labels = { id: `id-${i}`, [`label${i % 100}`]: "v" };
        return { timeNs: timeNs(i), name: "requests", type: "counter", unit: "", labels, value: i };
      }),
    );
  }
  await store.seal();
}, 60_000);
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

const series = [
  "topk(5, count(logs) by (id))",
  "topk(5, count(logs) by (tenth)) by (tenth)",
  "sum(count(logs) by (tenth)) by (tenth)",
  "count_distinct(id, logs) by (tenth)",
  "quantile(0.9, n, logs) by (tenth)",
  "count(logs | json) by (of.b)",
  'count(logs | regexp "(?P<word>[a-z]+).*(?P<last>[0-9]+) ms$") by (word)',
  "count(logs) by (template)",
  "count(logs) by (tenth) + count(logs) by (tenth)",
  "sum(rate(requests)) by (id)",
  "topk(5, sum(increase(requests)) by (id))",
];
const search = (query: string, limits: { deadlineMs: number }) => {
  const [fromNs, toNs] = [BigInt(startMs) * 1_000_000n, BigInt(range.endMs) * 1_000_000n];
  return store.search(
    { signal: "logs", fromNs, toNs, steps: planLogs(query).steps as Step[], limit: 100 },
    limits,
  );
};
const half = startMs + rows / 2;
const forms: Record<string, (limits: { deadlineMs: number }) => Promise<unknown>> = {
  ...Object.fromEntries(
    series.map((query) => [
      query,
      (limits) => queryTimeseries(store, { query, ...range, bucketSeconds: 10 }, limits),
    ]),
  ),
  "rows of an expression": (limits) => search('{message=~"(a|ab|abc)*x(.*)(.*)$"}', limits),
  "rows of a JSON field": (limits) => search('{} | json | of.b = "none"', limits),
  values: (limits) => queryValues(store, { ...all, field: "id", query: "" }, limits),
  fields: (limits) => queryFields(store, { ...all, query: "{} | json" }, limits),
  patterns: (limits) => queryPatterns(store, { ...all, query: '{message=~"(.*)(.*)9 ms$"}' }, limits),
  histogram: (limits) => queryHistogram(store, { ...all, query: "", by: "tenth" }, limits),
  labels: (limits) => queryLabels(store, { ...all, query: "" }, limits),
  comparison: (limits) =>
    queryComparison(
      store,
      {
        ...{ signal: "logs", query: "{} | json", limit: 10 },
        selection: { query: "", startMs, endMs: half },
        baseline: { query: "", startMs: half, endMs: range.endMs },
      },
      limits,
    ),
};

test("queries of slow forms end at their deadline", async () => {
  const late: string[] = [];
  let refused = 0;
  for (const [name, ask] of Object.entries(forms)) {
    const beganMs = performance.now();
    await ask({ deadlineMs }).catch((error: unknown) => {
      if (!(error instanceof Failure) || error.kind !== "deadline")
        throw new Error(`${name}: ${String(error)}`);
      refused++;
    });
    await search("", { deadlineMs: endMsMax });
    const ms = performance.now() - beganMs;
    if (ms > endMsMax) late.push(`${name}: ${Math.round(ms)} ms`);
  }
  expect(late).toEqual([]);
  expect(refused).toBeGreaterThan(Object.keys(forms).length / 2);
}, 60_000);
