/** The metrics store: refused samples, listings, limits, damage and background work. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  ActiveSeries,
  encodeSampleBatch,
  openStore,
  type QueryLimits,
  readInventory,
  type Sample,
  SampleBatchBuilder,
  type SampleQuery,
  SeriesRanges,
  type Store,
  textAt,
  verifyStore,
} from "../../../engine/index.ts";

const nowMs = Date.parse("2026-11-20T12:00:00Z");
const dayMs = 86_400_000;
const now = () => nowMs;
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-metrics-"));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const ns = (ms: number) => BigInt(ms) * 1_000_000n;

function sample(part: Partial<Sample> & { ms?: number }): Sample {
  const { ms = nowMs, ...rest } = part;
  return { timeNs: ns(ms), name: "up", type: "gauge", unit: "", labels: {}, value: 1, ...rest };
}

function makeQuery(part: Partial<SampleQuery> = {}): SampleQuery {
  const range = { fromNs: ns(nowMs - 2 * dayMs), toNs: ns(nowMs + dayMs) };
  return { name: "up", ...range, steps: [], groupBy: [], of: "declared", aggregate: { op: "sum" }, ...part };
}

async function valuesOf(store: Store, query: SampleQuery): Promise<Record<string, number>> {
  const { labels, points } = await store.aggregateSamples(query);
  const fields = Array.isArray(query.groupBy) ? query.groupBy.length : 1;
  return Object.fromEntries(
    [...points.groups].map((group, i) => {
      const texts = Array.from({ length: fields }, (_, field) => textAt(labels, group * fields + field));
      return [texts.join(), points.values[0]![i]!];
    }),
  );
}

/** The ranges of a series in a text like "uppod0001" that begins at `from`: name, label key, label value. */
function rangesOfPod(from: number): SeriesRanges {
  const ranges = new SeriesRanges();
  ranges.nameFrom = from;
  ranges.nameTo = from + 2;
  ranges.addLabel(from + 2, from + 5, from + 5, from + 9);
  return ranges;
}

describe("samples that cannot be stored", () => {
  test("are refused with the reason, and the others are accepted", () => {
    const { refused, rows } = encodeSampleBatch(
      [
        sample({ name: "" }),
        sample({ ms: -1 }),
        sample({ ms: nowMs + dayMs + 1 }),
        sample({ ms: nowMs + dayMs }),
        sample({ name: "x".repeat(2000) }),
        sample({ unit: "s".repeat(300) }),
        sample({ labels: { ["k".repeat(2000)]: "v" } }),
        sample({ labels: { a: "v".repeat(20_000) } }),
        sample({ labels: Object.fromEntries(Array.from({ length: 129 }, (_, i) => [`k${i}`, "v"])) }),
        sample({ labels: Object.fromEntries(Array.from({ length: 128 }, (_, i) => [`k${i}`, "v"])) }),
      ],
      { nowMs },
    );
    expect(rows).toBe(2);
    expect(refused.map(({ index, reason }) => `${index} ${reason}`)).toEqual([
      "0 the metric has no name",
      "1 the time is before 1970-01-01, the earliest that can be stored",
      "2 the time is more than a day ahead of the server's clock",
      "4 the metric's name is longer than 1024 bytes",
      "5 the unit is longer than 256 bytes",
      `6 label "${"k".repeat(40)}…" has a key longer than 1024 bytes`,
      "7 name and labels together are longer than 16384 bytes",
      "8 more than 128 labels",
    ]);
  });

  test("are those of new series above the limit; known series go on, across a restart and a day", async () => {
    let clock = nowMs;
    const options = { dir, threads: 1, seriesMax: 3, now: () => clock };
    const pod = (name: string, ms = clock) => sample({ ms, labels: { pod: name } });
    let store = await openStore(options);
    await store.appendSamples([pod("a"), pod("b"), pod("c"), pod("a")]);
    const { rows, refused } = await store.appendSamples([pod("a", clock - 1), pod("d"), pod("d", clock - 1)]);
    expect(rows).toBe(1);
    expect(refused.map(({ index }) => index)).toEqual([1, 2]);
    expect(refused[0]!.reason).toContain("3 series, the most the store takes");
    await store.seal();
    await store.close();
    store = await openStore(options);
    expect((await store.appendSamples([pod("d"), pod("c", clock - 2)])).refused).toHaveLength(1);
    clock += dayMs;
    expect((await store.appendSamples([pod("a"), pod("d")])).refused).toHaveLength(1);
    clock += dayMs;
    // Only one series was active yesterday.
    expect((await store.appendSamples([pod("d"), pod("e"), pod("f")])).refused).toHaveLength(1);
    await store.close();
  });

  test("the census counts a series once, whichever batch has it", async () => {
    const store = await openStore({ dir, threads: 1, now });
    const tables = store.seriesCensus();
    for (const pods of [["a", "b"], ["b", "c"], ["a"]]) {
      const census = new ActiveSeries(structuredClone(tables));
      encodeSampleBatch(
        pods.map((pod) => sample({ labels: { pod } })),
        { nowMs, census },
      );
    }
    expect(new ActiveSeries(tables).active).toBe(3);
    await store.close();
  });
});

test("a series is the same when it is given by ranges, with labels in any order, or by an alias", async () => {
  const text = "upzonepodeua";
  const draft = new SampleBatchBuilder({ nowMs });
  draft.read(Buffer.from(text));
  const ranges = new SeriesRanges();
  ranges.nameTo = 2;
  ranges.addLabel(2, 6, 9, 11);
  ranges.addLabel(6, 9, 11, 12);
  ranges.addLabel(6, 9, 3, 3);
  ranges.addLabel(6, 9, 11, 12);
  const series = draft.addSeries(ranges);
  draft.add(series, nowMs / 1000, 0, 1);
  const lineOf = (nanos: bigint, value: number) =>
    `{"up in":"zone eu","timeUnixNano":${nanos},"value":${value}}`;
  const lines = Buffer.from(
    `${lineOf(ns(nowMs) + 7n, 6)}\n${lineOf(ns(nowMs) + 5n, 2)}\n${lineOf(ns(nowMs) + 9n, 7)}`,
  );
  const rows = draft.readJson(lines, 0);
  expect([rows.readLines(9), rows.lastRow.line]).toEqual(["unusual row", 1]);
  draft.addSample(
    sample({ timeNs: ns(nowMs) + 7n, type: "unknown", labels: { pod: "a", zone: "eu" }, value: 6 }),
  );
  draft.noteAlias();
  expect([rows.readLines(9), rows.lastRow.line, rows.addStaged()]).toEqual(["staged row", 2, undefined]);
  expect([rows.readLines(9), rows.rowsRead]).toEqual(["end", 1]);
  const store = await openStore({ dir, threads: 1, now });
  await store.appendEncoded(draft.finish());
  expect(await valuesOf(store, makeQuery({ groupBy: { without: [] } }))).toEqual({
    '[["pod","a"],["zone","eu"]]': 4,
  });
  await store.close();
});

describe("what the store lists", () => {
  test("metrics, label keys and label values with their number of series", async () => {
    const store = await openStore({ dir, threads: 2, now });
    await store.appendSamples([
      sample({ labels: { pod: "a", zone: "eu" } }),
      sample({ labels: { pod: "b" } }),
      sample({ name: "http_total", type: "counter", unit: "1", labels: { pod: "a" } }),
    ]);
    await store.seal();
    await store.appendSamples([
      sample({ labels: { pod: "a", zone: "eu" }, value: 2 }),
      sample({ name: "old", ms: nowMs - 5 * dayMs, labels: { host: "h" } }),
    ]);
    const range = { fromNs: ns(nowMs - dayMs), toNs: ns(nowMs + 1) };
    expect(await store.metricNames(range.fromNs, range.toNs)).toEqual([
      { name: "http_total", type: "counter", unit: "1", series: 1 },
      { name: "up", type: "gauge", unit: "", series: 2 },
    ]);
    expect(await store.metricNames(ns(nowMs + 1), ns(nowMs + dayMs))).toEqual([]);
    const asked = { ...range, steps: [], limit: 10 };
    expect(await store.seriesLabels(asked)).toEqual([
      { text: "pod", series: 3 },
      { text: "zone", series: 1 },
    ]);
    expect(await store.seriesLabels({ ...asked, name: "up", key: "pod" })).toEqual([
      { text: "a", series: 1 },
      { text: "b", series: 1 },
    ]);
    expect(await store.seriesLabels({ ...asked, key: "pod", limit: 1 })).toEqual([{ text: "a", series: 2 }]);
    const eu = { kind: "equals", field: { kind: "attribute", key: "zone" }, value: "eu" } as const;
    expect(
      await store.seriesLabels({ ...asked, key: "pod", steps: [{ kind: "filter", filter: eu }] }),
    ).toEqual([{ text: "a", series: 1 }]);
    await store.close();
  });

  test("`kinds` says as what the series were read", async () => {
    const store = await openStore({ dir, threads: 1, now });
    await store.appendSamples([
      sample({}),
      sample({ name: "c", type: "counter" }),
      sample({ name: "x", type: "unknown" }),
      sample({ name: "x_total", type: "unknown" }),
    ]);
    const kinds = async (name: string, of: SampleQuery["of"]) =>
      (await store.aggregateSamples(makeQuery({ name, of }))).kinds;
    expect(await kinds("up", "declared")).toEqual({ gauge: true, counter: false });
    expect(await kinds("up", "increase")).toEqual({ gauge: true, counter: false });
    expect(await kinds("c", "declared")).toEqual({ gauge: false, counter: true });
    expect(await kinds("x", "declared")).toEqual({ gauge: true, counter: false });
    expect(await kinds("x", "increase")).toEqual({ gauge: false, counter: true });
    expect(await kinds("x_total", "declared")).toEqual({ gauge: false, counter: true });
    expect(await kinds("none", "declared")).toEqual({ gauge: false, counter: false });
    await store.close();
  });

  test("a query for what samples do not have is an input error", async () => {
    const store = await openStore({ dir, threads: 1, now });
    const refused = (part: Partial<SampleQuery>) =>
      expect(store.aggregateSamples(makeQuery(part))).rejects.toMatchObject({ kind: "input" });
    await refused({ bucketNs: 1n });
    await refused({ groupBy: [{ kind: "message" }] });
    await refused({ aggregate: { op: "quantile", q: 1.5 } });
    await refused({ steps: [{ kind: "extract", extractor: { kind: "json" } }] });
    const message = { kind: "contains", field: { kind: "message" }, text: "x", ignoreCase: false } as const;
    await refused({ steps: [{ kind: "filter", filter: { kind: "not", of: message } }] });
    await store.close();
  });
});

describe("queries that cannot be answered completely", () => {
  async function openFilledStore(options: { days: number }): Promise<Store> {
    const store = await openStore({ dir, threads: 2, now });
    for (let day = 0; day < options.days; day++) {
      await store.appendSamples(
        Array.from({ length: 6_000 }, (_, i) =>
          sample({ ms: nowMs - day * dayMs - i, labels: { pod: `p${i % 20}` }, value: Math.sin(i) }),
        ),
      );
    }
    await store.seal();
    return store;
  }

  test("end at their limits, at their deadline and when cancelled", async () => {
    const store = await openFilledStore({ days: 1 });
    const refused = (limits: QueryLimits, kind: string) =>
      expect(store.aggregateSamples(makeQuery(), limits)).rejects.toMatchObject({ kind });
    await refused({ scannedRows: 100 }, "limit");
    await refused({ memoryBytes: 1_000 }, "limit");
    await refused({ deadlineMs: -1 }, "deadline");
    await refused({ abort: AbortSignal.abort() }, "cancelled");
    expect(await valuesOf(store, makeQuery({ aggregate: { op: "count" } }))).toEqual({ "": 20 });
    await store.close();
  });

  test("leave out a damaged chunk, which is reported", async () => {
    await (await openFilledStore({ days: 2 })).close();
    const file = join(dir, "metrics", "2026-11-19", "data.mdb");
    const bytes = readFileSync(file);
    // The values are by far the longest frame.
    let longest = 0;
    let most = 0;
    for (let at = bytes.indexOf("SVCF"); at >= 0; at = bytes.indexOf("SVCF", at + 4)) {
      if (bytes.readUInt32LE(at + 12) <= most) continue;
      most = bytes.readUInt32LE(at + 12);
      longest = at;
    }
    bytes[longest + 2_000]! ^= 1;
    writeFileSync(file, bytes);
    const store = await openStore({ dir, threads: 2, now });
    const count = makeQuery({ aggregate: { op: "count" }, bucketNs: ns(dayMs) });
    expect((await store.aggregateSamples(count)).points.values[0]).toEqual(Float64Array.of(20));
    expect(store.stats().damage).toHaveLength(1);
    expect(store.stats().damage[0]!.problem).toContain("its 6000 rows are quarantined");
    await store.close();
  });
});

describe("background work", () => {
  test("compacts parts and merges chunks in order of arrival: of equal times the last sample counts", async () => {
    const store = await openStore({ dir, threads: 2, now });
    const pods = ["a", "b", "c"];
    for (let round = 0; round < 60; round++) {
      // Each round overwrites half of the samples of the round before.
      await store.appendSamples(
        pods.flatMap((pod) => [
          sample({ ms: nowMs - 1000 + round, labels: { pod }, value: round }),
          sample({ ms: nowMs - 999 + round, labels: { pod }, value: -1 }),
        ]),
      );
      if (round % 5 === 4) await store.seal();
    }
    const asked = makeQuery({ groupBy: [{ kind: "attribute", key: "pod" }], aggregate: { op: "min" } });
    const before = { toNs: ns(nowMs - 1000 + 60) };
    expect(store.stats().chunks).toBeLessThan(12);
    expect(await valuesOf(store, { ...asked, ...before })).toEqual({ a: 0, b: 0, c: 0 });
    expect(await valuesOf(store, asked)).toEqual({ a: -1, b: -1, c: -1 });
    const counted = await store.aggregateSamples({ ...asked, bucketNs: 1_000_000n });
    expect(counted.points.values[0]!.length).toBe(61 * 3);
    await store.close();
    expect((await verifyStore(dir)).damage).toEqual([]);
  });

  test("counts the same rows after a restart, although samples came again", async () => {
    const batches = 100;
    const again = () =>
      Array.from({ length: 20 }, (_, i) => sample({ ms: nowMs - i, labels: { pod: `p${i}` } }));
    const store = await openStore({ dir, threads: 1, now });
    for (let i = 0; i < batches; i++) await store.appendSamples(again());
    const compacted = async () => (await store.aggregateSamples(makeQuery())).scanned.chunks < batches / 2;
    await expect.poll(compacted, { timeout: 10_000 }).toBe(true);
    const before = store.stats().signals.metrics;
    expect(before).toMatchObject({ rows: batches * 20, unsealedRows: batches * 20 });
    const [stored] = (await readInventory(dir)).filter(({ signal }) => signal === "metrics");
    expect(stored!.rows + stored!.unsealedRows).toBe(before.rows);
    await store.close();
    const next = await openStore({ dir, threads: 1, now });
    expect(next.stats().signals.metrics).toEqual(before);
    await next.seal();
    const sealed = next.stats().signals.metrics;
    expect(sealed).toMatchObject({ rows: 20, unsealedRows: 0 });
    await next.close();
    const last = await openStore({ dir, threads: 1, now });
    expect(last.stats().signals.metrics).toEqual(sealed);
    await last.close();
  });

  test("bounds the memory of unsealed samples under a flood", { timeout: 60_000 }, async () => {
    const store = await openStore({ dir, threads: 1, now });
    const pods = Array.from({ length: 500 }, (_, i) => `uppod${String(i).padStart(4, "0")}`);
    const bytes = Buffer.from(pods.join(""));
    let most = 0;
    for (let round = 0; round < 40; round++) {
      const draft = new SampleBatchBuilder({ nowMs });
      draft.read(bytes);
      const series = pods.map((_, i) => draft.addSeries(rangesOfPod(i * 9)));
      for (let i = 0; i < 50_000; i++) {
        const ms = round * 100 + Math.floor(i / 500);
        const seconds = nowMs / 1000 - 1_000 + Math.floor(ms / 1000);
        draft.add(series[i % 500]!, seconds, (ms % 1000) * 1_000_000, i * round);
      }
      await store.appendEncoded(draft.finish());
      most = Math.max(most, store.stats().unsealedBytes);
    }
    expect(most).toBeLessThan(64 * 2 ** 20);
    // More samples than a chunk can have were appended, so background work has sealed a chunk or soon will.
    while (store.stats().signals.metrics.chunks === 0) await setTimeout(20);
    const { points } = await store.aggregateSamples(makeQuery({ aggregate: { op: "count" } }));
    expect([...points.values[0]!]).toEqual([500]);
    await store.close();
  });
});
