/** What an explanation counts of each condition and each node, against loops over the rows. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../engine/index.ts";
import { printExplanation, queryTimeseries, searchLogs } from "../../query/index.ts";

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 0, 10);
const services = ["cart", "pay", "web"];
const dir = mkdtempSync(join(tmpdir(), "svc-explain-"));
let store: Store;

/** A chunk for each day; only that of the second day has the word. */
const days = [0, 1, 2].map((day) =>
  Array.from({ length: 300 + 100 * day }, (_, i): LogRow => {
    const timeNs = BigInt(startMs + day * dayMs + i * 1_000) * 1_000_000n;
    const message = `call ${i * 7919} ${day === 1 && i % 3 === 0 ? "refused" : "served"} by ${i % 11}`;
    return { timeNs, level: "info", message, attributes: { service: services[i % 3]!, ms: String(i % 97) } };
  }),
);
const range = { startMs, endMs: startMs + 3 * dayMs - 1 };

beforeAll(async () => {
  store = await openStore({ dir, threads: 1, now: () => startMs + 4 * dayMs });
  for (const rows of days) {
    await store.append("logs", rows);
    await store.seal();
  }
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

const isSlow = ({ attributes }: LogRow) => Number(attributes.ms) > 50;
const isRefused = ({ message }: LogRow) => message.includes("refused");

test("each condition says which rows were tested and passed, and which chunks an index excluded", async () => {
  const query = '{ms > 50} |= "refused"';
  const tested = days[1]!;
  const conditions = [
    { chunksExcluded: 0, chunks: 1, rowsIn: tested.length, rowsOut: tested.filter(isSlow).length },
    {
      ...{ chunksExcluded: 2, rowsExcluded: days[0]!.length + days[2]!.length, chunks: 1 },
      rowsIn: tested.filter(isSlow).length,
      rowsOut: tested.filter((row) => isSlow(row) && isRefused(row)).length,
    },
  ];
  const found = await searchLogs(store, { query, ...range, limit: 1_000, isExplained: true });
  expect(found.rows).toHaveLength(conditions[1]!.rowsOut);
  expect(found.explained.reads[0]!.scanned.conditions).toMatchObject(conditions);
  const counted = await queryTimeseries(store, {
    ...{ query: `count(${query.replace("{", "logs{")}) by (service)`, ...range, bucketSeconds: 3_600 },
    isExplained: true,
  });
  expect(counted.explained.reads[0]!.scanned.conditions).toMatchObject(conditions);
  const text = printExplanation(counted.explained);
  expect(text).toContain(
    `${days[0]!.length + days[2]!.length} rows in 2 chunks excluded by statistics and indexes`,
  );
  expect(text).toContain(`${tested.length} rows in 1 chunk tested, ${conditions[0]!.rowsOut} pass`);
});

test("chunks that headers and summaries count are told apart from those that hold nothing", async () => {
  const all = { query: "count(logs) by (service)", ...range, bucketSeconds: 86_400, isExplained: true };
  const { explained } = await queryTimeseries(store, all);
  expect(explained.reads[0]!.scanned).toMatchObject({ chunks: 0, chunksSkipped: 3, chunksCounted: 3 });
  const none = { ...all, query: 'count(logs |= "nowhere") by (service)' };
  const found = await queryTimeseries(store, none);
  expect(found.explained.reads[0]!.scanned).toMatchObject({ chunks: 0, chunksSkipped: 3, chunksCounted: 0 });
});

test("each node says how many series and points it led to", async () => {
  const query = 'topk(2, count(logs) by (service)) / on () sum(count(logs |= "refused")) * 2';
  const { series, explained } = await queryTimeseries(store, {
    ...{ query, ...range, bucketSeconds: 86_400, isExplained: true },
  });
  const points = series.reduce((sum, each) => sum + each.points.length, 0);
  const [product, ratio, top, counts] = explained.nodes!;
  expect(product).toMatchObject({ series: series.length, points });
  expect(ratio).toMatchObject({ series: series.length, points });
  expect(top).toMatchObject({ series: 2, points: 6 });
  expect(counts).toMatchObject({ series: 3, points: 9 });
  expect(product!.milliseconds).toBeGreaterThanOrEqual(ratio!.milliseconds);
  const plain = await queryTimeseries(store, { query, ...range, bucketSeconds: 86_400 });
  expect(plain.explained.nodes).toBeUndefined();
});
