/** What lists and comparisons do on the query thread, of as many groups as the store gives, is divided into turns. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AggregateQuery,
  type AggregateResult,
  emptyScanStatistics,
  type FieldCounts,
  openStore,
  type RowColumns,
  type RowColumnsQuery,
  type Store,
  type ValueCounts,
} from "../../../engine/index.ts";
import {
  queryComparison,
  queryFields,
  queryHistogram,
  queryLabelValues,
  queryPatterns,
  queryServiceMap,
  queryTimeseries,
  queryValues,
} from "../../../query/index.ts";
import { canMeasureTurns, longestTurnMs } from "../longest-turn.ts";

/** Longest turn, in CPU milliseconds. A turn may once have a garbage collection in it: then the work is measured again. */
const turnMsMax = 50;
/** Groups of one answer of the store, at most. */
const groups = 100_000;
const spans = 400_000;
const patterns = 90_000;

const scanned = emptyScanStatistics();
/** In no order. */
const textOf = (i: number) => `text-${(i * 7_919) % groups}`;

function aggregateOf({ groupBy, aggregates, bucketNs }: AggregateQuery): AggregateResult {
  // Without a field to group by, one group.
  const count = groupBy.length === 0 ? 1 : groups;
  const texts = Array.from({ length: count * groupBy.length }, (_, i) => textOf(i));
  const offsets = new Uint32Array(texts.length + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i]! + text.length;
  const buckets = bucketNs === undefined || count === 1 ? 1 : 5;
  return {
    groups: count,
    labels: { offsets, bytes: Buffer.from(texts.join("")) },
    points: {
      groups: Uint32Array.from({ length: count * buckets }, (_, i) => i % count),
      buckets: Float64Array.from({ length: count * buckets }, (_, i) => buckets - 1 - Math.floor(i / count)),
      values: aggregates.map(() => Float64Array.from({ length: count * buckets }, (_, i) => (i % 1_000) + 1)),
    },
    scanned,
  };
}

function valueCounts(): ValueCounts {
  const fields = Array.from({ length: 100 }, (_, field) => {
    const values = new Map(Array.from({ length: 4_000 }, (_, i) => [`v${i}`, 1 + ((i * field) % 97)]));
    return { field: { kind: "attribute", key: `k${field}` } as const, values };
  });
  return { rows: 1_000_000, fields, isWhole: true, scanned };
}

function columnsOf({ columns, conditions = [] }: RowColumnsQuery): RowColumns {
  const number = (step: number) => Uint32Array.from({ length: spans }, (_, i) => i * step);
  return {
    rows: spans,
    timeNs: new Float64Array(spans).fill(1e12),
    // In the opposite order.
    arrivals: Float64Array.from({ length: spans }, (_, i) => spans - i),
    conditions: conditions.map((_, k) => Uint8Array.from({ length: spans }, (__, i) => ((i >> k) & 1) ^ 1)),
    columns: columns.map(({ as }) => {
      if (as === "hash") return { as, low: number(3), high: number(5) };
      if (as === "number") return { as, values: Float64Array.from({ length: spans }, (_, i) => i) };
      return {
        as,
        codes: number(1).map((i) => i % 20_000),
        values: Array.from({ length: 20_000 }, (_, i) => `s${i}`),
      };
    }),
    scanned,
  };
}

/** The answers are made before the work that is measured. */
function makeStore(): Store {
  const made = new Map<string, AggregateResult>();
  const keep = (query: AggregateQuery) => {
    const key = `${query.groupBy.length} ${query.aggregates.length} ${query.bucketNs}`;
    const known = made.get(key) ?? aggregateOf(query);
    made.set(key, known);
    return known;
  };
  const columns = new Map<string, RowColumns>();
  const fieldCounts: FieldCounts = {
    ...{ rows: groups, levels: 0, isWhole: true, scanned },
    attributes: new Map(Array.from({ length: groups }, (_, i) => [textOf(i), i])),
  };
  const metrics = Array.from({ length: groups }, (_, i) => {
    return { name: textOf(i), type: "gauge" as const, unit: "", series: i % 100 };
  });
  const [selection, baseline] = [valueCounts(), valueCounts()];
  let asked = 0;
  return {
    aggregate: async (query) => keep(query),
    countFields: async () => fieldCounts,
    countValues: async () => (asked++ % 2 === 0 ? selection : baseline),
    readColumns: async (query) => {
      const key = `${query.columns.map(({ as }) => as).join(" ")} ${query.conditions?.length}`;
      const known = columns.get(key) ?? columnsOf(query);
      columns.set(key, known);
      return known;
    },
    metricNames: async () => metrics,
    search: async () => ({ rows: [], more: false, scanned }),
    attributeKeys: () => ({ keys: ["id"], isWhole: true }),
  } as Partial<Store> as Store;
}

const store = makeStore();
const dir = mkdtempSync(join(tmpdir(), "svc-listing-turns-"));
let filled: Store;
beforeAll(async () => {
  filled = await openStore({ dir, threads: 1 });
  const rows = Array.from({ length: patterns }, (_, i) => ({
    timeNs: BigInt(i % 5_000) * 1_000_000n,
    // Without a digit, so that no two have the same pattern.
    message: Array.from(i.toString(26), (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26))).join(
      "",
    ),
    level: "",
    attributes: {},
  }));
  for (let from = 0; from < patterns; from += 10_000)
    await filled.append("logs", rows.slice(from, from + 10_000));
});
afterAll(async () => {
  await filled.close();
  rmSync(dir, { recursive: true });
});
const range = { startMs: 0, endMs: 4_999 };
const side = { ...range, query: "" };
type Limits = { deadlineMs?: number };
const works: Record<string, (limits: Limits) => Promise<unknown>> = {
  values: (limits) =>
    queryValues(store, { ...range, signal: "logs", field: "id", query: "", prefix: "", limit: 10 }, limits),
  // The store itself finds the most frequent patterns, so this one has rows.
  patterns: (limits) => queryPatterns(filled, { ...range, query: "", limit: 10 }, limits),
  "a histogram by a field": (limits) =>
    queryHistogram(store, { ...range, signal: "logs", query: "", by: "id", bucketSeconds: 1 }, limits),
  fields: (limits) =>
    queryFields(store, { ...range, signal: "logs", query: "", prefix: "", limit: 10 }, limits),
  "names of metrics": (limits) =>
    queryLabelValues(store, "__name__", { ...range, query: "", prefix: "", limit: 10 }, limits),
  "a comparison": (limits) =>
    queryComparison(store, { signal: "logs", query: "", selection: side, baseline: side, limit: 10 }, limits),
  ...Object.fromEntries(
    [
      "count(logs | x = lag(message) by (id)) by (x)",
      "sum(x, logs | x = since_previous() by (id) | x >= 0)",
      'count(logs | sequence (|= "a" then not |= "b" then |= "c") by (id) within 1h)',
      "count(logs | last by (id))",
      "count(logs | join (traces) on (id)) by (traces.name)",
    ].map((query) => [
      query,
      (limits: Limits) => queryTimeseries(store, { ...range, query, bucketSeconds: 1 }, limits),
    ]),
  ),
  "a service map": (limits) => queryServiceMap(store, { ...range, query: '{kind="client"}' }, limits),
};

describe.each(Object.entries(works))("%s of very many", (_name, work) => {
  test.skipIf(!canMeasureTurns)(
    "lets other work run",
    async () => {
      // The store makes its answers, and the code is compiled.
      await work({});
      let ms = await longestTurnMs(() => work({}));
      for (let again = 0; again < 2 && ms > turnMsMax; again++)
        ms = Math.min(ms, await longestTurnMs(() => work({})));
      expect(ms).toBeLessThan(turnMsMax);
    },
    30_000,
  );

  test("ends at the deadline", async () => {
    await expect(work({ deadlineMs: 1 })).rejects.toMatchObject({ kind: "deadline" });
  });
});
