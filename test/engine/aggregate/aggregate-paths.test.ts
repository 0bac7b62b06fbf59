/** Aggregations on special paths: from statistics alone, with too many cells for counters, at a limit, over damage. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PointTable } from "../../../engine/aggregate/point-table.ts";
import {
  type AggregateQuery,
  type AggregateResult,
  type Field,
  type Filter,
  type LogRow,
  openStore,
  type Store,
  textAt,
} from "../../../engine/index.ts";
import { groupsMax, pointsMax } from "../../../engine/limits.ts";
import { queryTimeseries } from "../../../query/index.ts";

const secondNs = 1_000_000_000n;
const dayNs = 86_400n * secondNs;
const startNs = 19_700n * dayNs;
const level: Field = { kind: "level" };
const attribute = (key: string): Field => ({ kind: "attribute", key });

/** Two days of rows: a few have the attribute `rare`, and `wide` differs on each of them. */
const rows: LogRow[] = Array.from({ length: 6_000 }, (_, i) => ({
  timeNs: startNs + (BigInt(i) * dayNs * 2n) / 6_000n,
  level: ["INFO", "warn", "info", "Error", "notice", "40"][i % 6]!,
  message: `row ${i} of ${i % 3 === 0 ? "many" : "several"}`,
  attributes: {
    service: ["a", "b", ""][i % 3]!,
    fixed: "x",
    wide: `w${i}`,
    ...(i % 50 === 0 ? { rare: "yes" } : {}),
  },
}));

function queryOf(changes: Partial<AggregateQuery> = {}): AggregateQuery {
  const aggregates: AggregateQuery["aggregates"] = [{ op: "count" }];
  return {
    signal: "logs",
    fromNs: startNs,
    toNs: startNs + 2n * dayNs,
    steps: [],
    groupBy: [],
    aggregates,
    ...changes,
  };
}

/** Counts by the texts of the group and the bucket. */
function countsOf({ groupBy }: AggregateQuery, { labels, points }: AggregateResult): Record<string, number> {
  const counts = Array.from(points.groups, (group, i): [string, number] => {
    const texts = groupBy.map((_, field) => textAt(labels, group * groupBy.length + field));
    return [[...texts, points.buckets[i]].join("|"), points.values[0]![i]!];
  });
  return Object.fromEntries(counts.sort());
}

function naiveCounts(
  keyOf: (row: LogRow, index: number) => string | undefined,
  source = rows,
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const [index, row] of source.entries()) {
    const key = keyOf(row, index);
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort());
}

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-aggregate-"));
  store = await openStore({ dir, threads: 2 });
  await store.append("logs", rows);
  await store.seal();
  // A new store has no decoded columns cached.
  await store.close();
  store = await openStore({ dir, threads: 2 });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

const equals = (field: Field, value: string): Filter => ({ kind: "equals", field, value });
const filterSteps = (filter: Filter): AggregateQuery["steps"] => [{ kind: "filter", filter }];

describe("statistics answer, without reading a column,", () => {
  test.each<[string, Partial<AggregateQuery>, (row: LogRow) => string | undefined]>([
    ["all rows", {}, () => "0"],
    ["rows by day", { bucketNs: dayNs }, ({ timeNs }) => `${(timeNs - startNs) / dayNs}`],
    ["levels", { groupBy: [level] }, (row) => `${row.level.toLowerCase()}|0`],
    [
      "an attribute that is sometimes empty",
      { groupBy: [attribute("service")] },
      (row) => `${row.attributes.service}|0`,
    ],
    [
      "an attribute that most rows lack",
      { groupBy: [attribute("rare")] },
      (row) => `${row.attributes.rare ?? ""}|0`,
    ],
    ["an attribute that no row has", { groupBy: [attribute("none")] }, () => "|0"],
    [
      "a filter on the field that is grouped by",
      { groupBy: [level], steps: filterSteps({ kind: "not", of: equals(level, "info") }) },
      (row) => (row.level.toLowerCase() === "info" ? undefined : `${row.level.toLowerCase()}|0`),
    ],
    [
      "a filter on the ranges of the levels that are grouped by",
      { groupBy: [level], steps: filterSteps(equals({ kind: "level", asRange: true }, "warn")) },
      (row) => (["warn", "40"].includes(row.level) ? `${row.level}|0` : undefined),
    ],
    [
      "ranges of levels",
      { groupBy: [{ kind: "level", asRange: true }] },
      (row) => `${{ warn: "warn", "40": "warn", Error: "error" }[row.level] ?? "info"}|0`,
    ],
    [
      "a filter on one other field",
      { steps: filterSteps({ kind: "matches", field: attribute("service"), pattern: "a|", whole: true }) },
      (row) => (row.attributes.service === "b" ? undefined : "0"),
    ],
    [
      "several fields of which only one differs between rows",
      {
        groupBy: [attribute("fixed"), level, attribute("none")],
        steps: filterSteps(equals(attribute("fixed"), "x")),
      },
      (row) => `x|${row.level.toLowerCase()}||0`,
    ],
  ])("%s", async (_name, changes, keyOf) => {
    const query = queryOf(changes);
    const found = await store.aggregate(query);
    expect(countsOf(query, found)).toEqual(naiveCounts(keyOf));
    expect(found.scanned).toMatchObject({ rows: 0, bytes: 0, chunks: 0, chunksSkipped: 2 });
  });

  test.each<[string, Partial<AggregateQuery>, (row: LogRow, index: number) => string | undefined]>([
    ["a range that cuts a chunk", { toNs: startNs + dayNs + 1n }, (_, i) => (i <= 3_000 ? "0" : undefined)],
    [
      "two fields that both differ between rows",
      { groupBy: [level, attribute("service")] },
      ({ level, attributes }) => `${level.toLowerCase()}|${attributes.service}|0`,
    ],
    [
      "a filter on another field than the one that is grouped by",
      { groupBy: [level], steps: filterSteps(equals(attribute("service"), "a")) },
      ({ level, attributes }) => (attributes.service === "a" ? `${level.toLowerCase()}|0` : undefined),
    ],
    [
      "more values than a header lists",
      { groupBy: [attribute("wide")] },
      ({ attributes }) => `${attributes.wide}|0`,
    ],
  ])("but not %s", async (_name, changes, keyOf) => {
    const query = queryOf(changes);
    const found = await store.aggregate(query);
    expect(countsOf(query, found)).toEqual(naiveCounts(keyOf));
    expect(found.scanned.chunks).toBeGreaterThan(0);
  });
});

test("cells are counted row by row where they are too many to have counters", async () => {
  const query = queryOf({ groupBy: [attribute("wide"), { kind: "message" }], bucketNs: secondNs });
  const found = await store.aggregate(query);
  const wanted = naiveCounts(({ attributes, message, timeNs }) => {
    return `${attributes.wide}|${message}|${(timeNs - startNs) / secondNs}`;
  });
  expect(countsOf(query, found)).toEqual(wanted);
  // Every row is a point.
  const aggregates: AggregateQuery["aggregates"] = [
    { op: "distinct", of: attribute("service") },
    { op: "quantile", of: { field: { kind: "time" } }, q: 0.5 },
    { op: "last" },
  ];
  const { points } = await store.aggregate({ ...query, aggregates });
  const [services, medians, lasts] = points.values;
  expect(services!.reduce((sum, value) => sum + value, 0)).toBe(4_000);
  expect(medians).toEqual(lasts);
});

test("levels that differ only in case are one point with one quantile", async () => {
  const hourNs = 3_600n * secondNs;
  const time: Field = { kind: "time" };
  const query = queryOf({ groupBy: [level], bucketNs: hourNs, steps: filterSteps(equals(level, "info")) });
  const { points } = await store.aggregate({
    ...query,
    aggregates: [{ op: "quantile", of: { field: time }, q: 0 }, { op: "first" }],
  });
  expect(points.groups.length).toBe(48);
  expect(points.values[0]).toEqual(points.values[1]);
});

describe("a limit", () => {
  test("of groups is an error that names it", async () => {
    const ownDir = mkdtempSync(join(tmpdir(), "svc-groups-"));
    const many = await openStore({ dir: ownDir, threads: 2 });
    for (let from = 0; from <= groupsMax; from += 20_000) {
      const batch = Array.from({ length: 20_000 }, (_, i) => ({
        timeNs: startNs + BigInt(from + i),
        level: "",
        message: "",
        attributes: { id: `${from + i}`, half: `${(from + i) >> 1}` },
      }));
      await many.append("logs", batch);
    }
    const ask = (key: string) => many.aggregate(queryOf({ groupBy: [attribute(key)] }));
    await expect(ask("id")).rejects.toMatchObject({
      kind: "limit",
      message: expect.stringContaining(`more than ${groupsMax} groups`),
    });
    const ranked = await many.aggregate(queryOf({ groupBy: [attribute("id")], isRanked: true }));
    expect(ranked.groups).toBe(120_000);
    expect(new Set(ranked.points.values[0])).toEqual(new Set([1]));
    expect(new Set(Array.from({ length: 120_000 }, (_, group) => textAt(ranked.labels, group))).size).toBe(
      120_000,
    );
    const top = await queryTimeseries(many, {
      query: "topk(3, count(logs) by (id))",
      startMs: Number(startNs / 1_000_000n),
      endMs: Number(startNs / 1_000_000n) + 1000,
      bucketSeconds: 60,
    });
    expect(top.series.map(({ labels, points }) => [labels.id, points[0]![1]])).toEqual([
      ["0", 1],
      ["1", 1],
      ["10", 1],
    ]);
    const { groups, points } = await ask("half");
    expect(groups).toBe(60_000);
    expect(new Set(points.values[0])).toEqual(new Set([2]));
    const distinct = (key: string) => ({ op: "distinct", of: attribute(key) }) as const;
    const counted = await many.aggregate(queryOf({ aggregates: [distinct("id"), distinct("half")] }));
    const [ids, halves] = counted.points.values;
    // Four standard errors.
    expect(Math.abs(ids![0]! / 120_000 - 1)).toBeLessThan(4 * 0.0081);
    expect(halves![0]).toBe(60_000);
    await many.close();
    rmSync(ownDir, { recursive: true });
  }, 60_000);

  test("of points is an error that names it", () => {
    const table = new PointTable();
    for (let i = 0; i < pointsMax; i++) table.findOrAdd(i % 7, i);
    expect(table.findOrAdd(3, 3)).toBe(3);
    expect(() => table.findOrAdd(8, 0)).toThrow(`more than ${pointsMax} points`);
    expect(table.finish().groups.length).toBe(pointsMax);
  });

  test.each([
    ["of rows", { scannedRows: 10 }, "limit", "more than 10 rows"],
    ["of memory", { memoryBytes: 1_000 }, "limit", "bytes"],
    ["of time", { deadlineMs: -1 }, "deadline", "longer than its deadline"],
    ["by cancellation", { abort: AbortSignal.abort() }, "cancelled", "cancelled"],
  ])("%s holds", async (_name, limits, kind, message) => {
    const query = queryOf({ groupBy: [attribute("wide")], bucketNs: 60n * secondNs });
    await expect(store.aggregate(query, limits)).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(message),
    });
  });

  test("of the bucket width is an input error", async () => {
    await expect(store.aggregate(queryOf({ bucketNs: 1n }))).rejects.toMatchObject({ kind: "input" });
  });
});

test("a damaged chunk is quarantined and reported, and the others are counted", async () => {
  const ownDir = mkdtempSync(join(tmpdir(), "svc-aggregate-damage-"));
  let damaged = await openStore({ dir: ownDir, threads: 2 });
  await damaged.append("logs", rows);
  await damaged.seal();
  await damaged.close();
  damageColumns(join(ownDir, "logs", "2023-12-09", "data.mdb"));
  damaged = await openStore({ dir: ownDir, threads: 2 });
  const query = queryOf({ groupBy: [level], bucketNs: 3_600n * secondNs });
  const found = await damaged.aggregate(query);
  const wanted = naiveCounts(({ level, timeNs }) => {
    return timeNs < startNs + dayNs
      ? undefined
      : `${level.toLowerCase()}|${(timeNs - startNs) / (3_600n * secondNs)}`;
  });
  expect(countsOf(query, found)).toEqual(wanted);
  expect(damaged.stats().damage.length).toBeGreaterThan(0);
  await damaged.close();
  rmSync(ownDir, { recursive: true });
});

/** Flips a bit in the value of every column (FORMAT.md, Frame). */
function damageColumns(file: string): void {
  const bytes = readFileSync(file);
  let count = 0;
  for (let at = bytes.indexOf("SVCF"); at >= 0; at = bytes.indexOf("SVCF", at + 4)) {
    if (bytes[at + 10] !== 1) continue;
    bytes[at + 40] = bytes[at + 40]! ^ 1;
    count++;
  }
  expect(count).toBeGreaterThan(0);
  writeFileSync(file, bytes);
}
