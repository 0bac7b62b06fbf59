/** Timeseries through the public face: random queries compared with a loop over the rows, and known answers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure, type LogRow, openStore, type Store } from "../../../engine/index.ts";
import {
  type Expression,
  printQuery,
  QueryError,
  queryTimeseries,
  type Series,
  type SeriesStore,
} from "../../../query/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { arbitraryRow, arbitrarySelector } from "../arbitrary-search.ts";
import { evaluateSearch, labelValue } from "../naive-search.ts";

type Selector = Extract<Expression, { kind: "selector" }>;

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const queries = scaled(200, 5_000);
/** An hour before midnight, so that buckets and ranges cross two partitions. */
const startMs = Date.UTC(2025, 2, 3, 23);
const spanMs = 2 * 3_600_000;
const startNs = BigInt(startMs) * 1_000_000n;

let dir: string;
let store: Store;
let rows: LogRow[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-timeseries-"));
  store = await openStore({ dir, threads: 2 });
  const time = fc.bigInt({ min: startNs, max: startNs + BigInt(spanMs) * 1_000_000n - 1n });
  const timed = fc.tuple(arbitraryRow, time).map(([row, timeNs]): LogRow => ({ ...row, timeNs }));
  rows = fc.sample(timed, { seed, numRuns: 400 });
  await store.append("logs", rows.slice(0, 250));
  await store.seal();
  for (let at = 250; at < rows.length; at += 30) await store.append("logs", rows.slice(at, at + 30));
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

interface RandomQuery {
  selector: Selector;
  labels: string[];
  perSecond: boolean;
  top: { op: "topk" | "bottomk"; count: number; among: string[] } | null;
  startMs: number;
  endMs: number;
  bucketSeconds: number;
}

const labels = [
  "a",
  "b.c",
  "status",
  "log_level",
  "message",
  "template",
  "timestamp",
  "attributes.message",
  "none",
];
const arbitraryQuery: fc.Arbitrary<RandomQuery> = fc
  .tuple(
    arbitrarySelector,
    fc.uniqueArray(fc.constantFrom(...labels), { maxLength: 3 }),
    fc.boolean(),
    fc.option(
      fc.record({
        op: fc.constantFrom("topk" as const, "bottomk" as const),
        count: fc.integer({ min: 1, max: 4 }),
        among: fc.uniqueArray(fc.constantFrom(...labels), { maxLength: 1 }),
      }),
    ),
    fc.array(fc.nat({ max: spanMs + 1000 }), { minLength: 2, maxLength: 2 }),
    fc.constantFrom(1, 7, 60, 600, 3_600, 86_400, 1_000_000),
  )
  .map(([selector, by, perSecond, top, times, bucketSeconds]) => {
    const [from, to] = [...times].sort((a, b) => a - b) as [number, number];
    return {
      selector,
      labels: by,
      perSecond,
      top,
      startMs: startMs + from,
      endMs: startMs + to,
      bucketSeconds,
    };
  });

function printRandomQuery({ selector, labels: by, perSecond, top }: RandomQuery): string {
  const inner = printQuery(selector);
  const counted = perSecond ? `sum(rate(${inner}))` : `count(${inner})`;
  const grouped = by.length === 0 ? counted : `${counted} by (${by.join(", ")})`;
  if (top === null) return grouped;
  return `${top.op}(${top.count}, ${grouped})${top.among.length === 0 ? "" : ` by (${top.among.join()})`}`;
}

function evaluateNaively(randomQuery: RandomQuery): Series[] {
  const widthMs = randomQuery.bucketSeconds * 1000;
  const found = new Map<string, Map<number, number>>();
  for (const row of rows) {
    const ms = Number(row.timeNs / 1_000_000n);
    const kept =
      ms < randomQuery.startMs || ms > randomQuery.endMs
        ? undefined
        : evaluateSearch(randomQuery.selector, row);
    if (kept === undefined) continue;
    const labelPairs = randomQuery.labels.map((label) => [label, labelValue(label, kept) ?? ""]);
    const key = JSON.stringify(labelPairs.filter(([, text]) => text !== ""));
    const bucketMs = Math.floor(ms / widthMs) * widthMs;
    const seconds =
      (Math.min(bucketMs + widthMs, randomQuery.endMs + 1) - Math.max(bucketMs, randomQuery.startMs)) / 1000;
    const points = found.get(key) ?? new Map<number, number>();
    found.set(key, points);
    points.set(bucketMs, (points.get(bucketMs) ?? 0) + 1);
    if (randomQuery.perSecond) points.set(bucketMs, points.get(bucketMs)! - 1 + 1 / seconds);
  }
  const all = [...found.keys()].sort().map((key) => ({
    labels: Object.fromEntries(JSON.parse(key)) as Record<string, string>,
    points: [...found.get(key)!].sort(([a], [b]) => a - b),
  }));
  return randomQuery.top === null ? all : rankNaively(randomQuery.top, all);
}

function rankNaively(
  { op, count, among }: NonNullable<RandomQuery["top"]>,
  all: readonly Series[],
): Series[] {
  const total = ({ points }: Series) => points.reduce((sum, [, value]) => sum + value, 0);
  const ranked = all.toSorted((a, b) => (op === "topk" ? total(b) - total(a) : total(a) - total(b)));
  const keyOf = (series: Series) => JSON.stringify(among.map((label) => series.labels[label]));
  return ranked.filter((series, i) => {
    return ranked.slice(0, i).filter((other) => keyOf(other) === keyOf(series)).length < count;
  });
}

const roundValues = (series: readonly Series[]) =>
  series.map((each) => ({
    ...each,
    points: each.points.map(([ms, value]) => [ms, Number(value.toPrecision(9))]),
  }));

describe(`random timeseries over random rows (SVC_SEED=${seed})`, () => {
  test(`${queries} queries give what the loop over the rows gives`, async () => {
    for (const randomQuery of fc.sample(arbitraryQuery, { seed: seed + 1, numRuns: queries })) {
      const query = printRandomQuery(randomQuery);
      const found = await queryTimeseries(store, { ...randomQuery, query });
      const context = `${query} from ${randomQuery.startMs} to ${randomQuery.endMs} by ${randomQuery.bucketSeconds} s`;
      // Sums of rates that are equal in theory may differ by rounding, so only the sums are compared.
      if (randomQuery.top !== null && randomQuery.perSecond) {
        const totals = (all: readonly Series[]) =>
          roundValues(all).map(({ points }) => points.reduce((sum, [, value]) => sum + value!, 0).toFixed(6));
        expect(totals(found.series), context).toEqual(totals(evaluateNaively(randomQuery)));
      } else expect(roundValues(found.series), context).toEqual(roundValues(evaluateNaively(randomQuery)));
    }
  }, 120_000);
});

test("topk above the limit of points ranks series first, then counts those that it keeps", async () => {
  const ranked = arbitraryQuery.filter(({ top }) => top !== null);
  for (const randomQuery of fc.sample(ranked, { seed: seed + 2, numRuns: 100 })) {
    const query = printRandomQuery({ ...randomQuery, perSecond: false });
    const direct = await queryTimeseries(store, { ...randomQuery, query });
    let calls = 0;
    const capped: SeriesStore = {
      readColumns: (columns, limits) => store.readColumns(columns, limits),
      aggregateSamples: (samples, limits) => store.aggregateSamples(samples, limits),
      metricNames: (...args) => store.metricNames(...args),
      seriesLabels: (labels, limits) => store.seriesLabels(labels, limits),
      attributeKeys: (signal, fromNs, toNs) => store.attributeKeys(signal, fromNs, toNs),
      aggregate: async (aggregation, limits) => {
        calls += 1;
        if (calls === 1) throw new Failure("limit", "more points than there may be");
        return store.aggregate(aggregation, limits);
      },
    };
    const found = queryTimeseries(capped, { ...randomQuery, query });
    if (direct.series.length > 100) {
      await expect(found, query).rejects.toThrow("more points than there may be");
      continue;
    }
    expect((await found).series, query).toEqual(direct.series);
    expect(calls).toBe(3);
  }
});

describe("buckets", () => {
  const ask = (more: { startMs: number; endMs: number; bucketSeconds?: number }) =>
    queryTimeseries(store, { query: "count(logs)", ...more });

  test("that the range covers only in part are listed", async () => {
    const [start, end] = [startMs + 30_000, startMs + 180_000];
    expect((await ask({ startMs: start, endMs: end, bucketSeconds: 60 })).partial).toEqual([
      startMs,
      startMs + 180_000,
    ]);
    expect((await ask({ startMs, endMs: startMs + 59_999, bucketSeconds: 60 })).partial).toEqual([]);
    expect((await ask({ startMs, endMs: startMs + 59_998, bucketSeconds: 60 })).partial).toEqual([startMs]);
    expect((await ask({ startMs, endMs: startMs, bucketSeconds: 60 })).partial).toEqual([startMs]);
  });

  test.each([
    [1, 1],
    [200, 1],
    [201, 2],
    [3_600, 20],
    [86_400, 600],
    [7 * 86_400, 3_600],
    [365 * 86_400, 2 * 86_400],
  ])("of %i seconds are %i seconds wide where nothing is said", async (seconds, width) => {
    const range = { startMs, endMs: startMs + seconds * 1000 - 1 };
    expect((await ask(range)).bucketSeconds).toBe(width);
    expect((await ask({ ...range, bucketSeconds: 0 })).bucketSeconds).toBe(width);
  });

  test("can cover all of time", async () => {
    const all = await ask({ startMs: 0, endMs: 8_640_000_000_000_000, bucketSeconds: 0 });
    expect(all.series.flatMap(({ points }) => points).reduce((sum, [, value]) => sum + value, 0)).toBe(
      rows.length,
    );
  });
});

describe("names that no row has", () => {
  const range = { startMs, endMs: startMs + spanMs };

  test("are warned of, in selectors and groupings", async () => {
    const query = 'count(logs{statu="5"}) by (b.d)';
    const { series, warnings } = await queryTimeseries(store, { query, ...range });
    expect(series).toEqual([]);
    expect(warnings).toEqual([
      'no row has the attribute "statu"; did you mean "status"?',
      'no row has the attribute "b.d"; did you mean "b.c"?',
    ]);
  });

  test("are warned of among metrics and their labels", async () => {
    const sample = { timeNs: startNs, name: "up", type: "gauge", unit: "", value: 1 } as const;
    await store.appendSamples([{ ...sample, labels: { "k8s.pod.name": "a" } }]);
    const ask = async (query: string) => (await queryTimeseries(store, { query, ...range })).warnings;
    expect(await ask("sum(upp)")).toEqual([
      'no series of that time is of the metric "upp"; did you mean "up"?',
    ]);
    expect(await ask('sum(up{pod="a"}) by (k8s.pod.nam)')).toEqual([
      'no series of up has the label "pod"; did you mean "k8s.pod.name"?',
      'no series of up has the label "k8s.pod.nam"; did you mean "k8s.pod.name"?',
    ]);
    expect(await ask("sum(up) by (k8s.pod.name)")).toEqual([]);
    expect(await ask("sum(rate(up))")).toEqual(["up is a gauge; its increase is taken as that of a counter"]);
  });

  test("are not warned of where a stage extracts them", async () => {
    const query = "count(logs | json) by (message_extracted, anything)";
    expect((await queryTimeseries(store, { query, ...range })).warnings).toEqual([]);
  });
});

test("a wrong query is refused before the store is asked", async () => {
  await expect(queryTimeseries(store, { query: "logs", startMs, endMs: startMs })).rejects.toThrow(
    QueryError,
  );
});
