/** Aggregates in cases that random rows seldom reach: different encodings, exceeded limits, difficult numbers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DistinctCounts } from "../../../engine/aggregate/distinct-counts.ts";
import { Quantiles } from "../../../engine/aggregate/quantiles.ts";
import {
  type AggregateQuery,
  type Aggregation,
  type Field,
  type Filter,
  type LogRow,
  openStore,
  type Store,
} from "../../../engine/index.ts";
import { plainColumns } from "../../../engine/kernels/heap.ts";
import { parseDecimal, parseDecimalBytes } from "../../../engine/vector/number.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";
import { naiveAggregate } from "./aggregations.ts";

const dayNs = 86_400_000_000_000n;
const startNs = 19_800n * dayNs;
const attribute = (key: string): Field => ({ kind: "attribute", key });
const ops = ["sum", "avg", "min", "max", "stddev"] as const;

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-fields-"));
  store = await openStore({ dir, threads: 2 });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/**
 * The first day without rows: each call of `makeRows` takes a day of its own, so that tests do not see each other's
 * rows.
 */
let days = 0n;
function makeRows(attributes: readonly Record<string, string>[], message = ""): LogRow[] {
  const fromNs = startNs + days++ * dayNs;
  return attributes.map((each, i) => ({ timeNs: fromNs + BigInt(i), level: "", message, attributes: each }));
}

function makeQuery(rows: readonly LogRow[], aggregates: Aggregation[]): AggregateQuery {
  const fromNs = rows[0]!.timeNs;
  return { signal: "logs", fromNs, toNs: fromNs + dayNs, steps: [], groupBy: [], aggregates };
}

/** The aggregates of all rows as the store computes them, and as a naive loop does. */
async function aggregateBothWays(
  rows: readonly LogRow[],
  aggregates: Aggregation[],
): Promise<[number[], number[]]> {
  const { points } = await store.aggregate(makeQuery(rows, aggregates));
  const textOf = (field: Field, row: LogRow) =>
    field.kind === "attribute" ? row.attributes[field.key] : row.message;
  const naive = aggregates.map((each) => naiveAggregate(each, rows, textOf));
  // Either of -0 and 0 may be the minimum.
  return [points.values.map((values) => values[0]! + 0), naive.map((value) => value + 0)];
}

describe("a text counts once, whatever the encodings of its chunks:", () => {
  const number = (i: number) => String(1_000_000 + i);
  const float = (i: number) => String((i + 0.5) / 1000);
  const id = (i: number) => new Random(i + 1).hex(32);
  const digits = (i: number) => String(i).padStart(16, "0");
  const word = (i: number) => `word ${i} é`;
  const uuid = (i: number) => new Random(i + 1).uuid();

  test.each<[string, (i: number) => string]>([
    ["whole numbers", number],
    ["fractions", float],
    ["hexadecimal ids", id],
    ["ids of decimal digits", digits],
    ["words", word],
    ["UUIDs", uuid],
    ["all of them", (i) => [number, float, id, digits, word, uuid][i % 6]!(i)],
    ["empty texts among them", (i) => (i % 3 === 0 ? "" : word(i))],
  ])("%s", async (_name, textOf) => {
    const values = Array.from({ length: 200 }, (_, i) => textOf(i));
    // Forces each encoding: distinct values use that of their kind, repeated ones a dictionary, mixed ones text, and a
    // single value a constant.
    const forms = [
      values,
      values.flatMap((value) => [value, value, value]),
      [...values, "something else", "0x1", "00", "1e3", "-0", "abcdef", "ABCDEF", "1e21", "1e+21"],
      [values[1]!, values[1]!],
    ];
    const rows = makeRows(forms.flat().map((value) => ({ value })));
    let from = 0;
    for (const [i, form] of forms.entries()) {
      await store.append("logs", rows.slice(from, from + form.length));
      from += form.length;
      if (i < 3) await store.seal();
    }
    const of = attribute("value");
    const aggregates: Aggregation[] = [
      { op: "distinct", of },
      { op: "min", of: { field: of } },
      { op: "quantile", of: { field: of }, q: 0.25 },
    ];
    const [found, naive] = await aggregateBothWays(rows, aggregates);
    expect(found).toEqual(naive);
  });
});

test("numbers far from zero keep their standard deviation, also across chunks", async () => {
  const values = Array.from({ length: 3_000 }, (_, i) => String(1e9 + (i % 7) / 8));
  const rows = makeRows(values.map((value) => ({ value })));
  await store.append("logs", rows.slice(0, 1_300));
  await store.seal();
  await store.append("logs", rows.slice(1_300));
  const [found, naive] = await aggregateBothWays(rows, [{ op: "stddev", of: { field: attribute("value") } }]);
  expect(found[0]! / naive[0]!).toBeCloseTo(1, 6);
});

test("infinite, missing and malformed numbers are read as in a naive loop", async () => {
  const texts = ["1e999", "-1e999", " 1", "NaN", "Infinity", "", "-0", "1_0", "12.", ".5", "+7", "0x10", "٣"];
  for (const text of [...texts, "9".repeat(400)]) {
    const rows = makeRows([{ value: text }, { other: "1" }]);
    await store.append("logs", rows);
    const of = { field: attribute("value") };
    const aggregates: Aggregation[] = [...ops.map((op) => ({ op, of })), { op: "quantile", of, q: 0.5 }];
    const [found, naive] = await aggregateBothWays(rows, aggregates);
    expect(found.map(String), text).toEqual(naive.map(String));
  }
});

test("a JSON path reads a number, and only a number", async () => {
  const bodies = [
    '{"spec":{"replicas":3,"ports":[80,"81",{"x":82}]}}',
    '{"spec":{"replicas":"4","ports":[]}}',
    '{"spec":{"replicas":5e0}}',
    '{"spec":[1]}',
    "{",
    "17",
    '{"spec":null}',
  ];
  const rows = bodies.flatMap((body) => makeRows([{ body }], body));
  await store.append("logs", rows);
  const field: Field = { kind: "message" };
  const paths: (string | number)[][] = [
    ["spec", "replicas"],
    ["spec", "ports", 0],
    ["spec", "ports", 2, "x"],
  ];
  for (const path of [...paths, ["spec", 0], ["spec", "ports", 1], ["spec", "ports", "0"], []]) {
    const sums = await Promise.all(
      rows.map((row) => aggregateBothWays([row], [{ op: "sum", of: { field, path } }])),
    );
    expect(sums.map(([found]) => found[0])).toEqual(sums.map(([, naive]) => naive[0]));
  }
});

test("statistics answer the extremes of whole chunks, but only where they are exact", async () => {
  const rows = makeRows(
    Array.from({ length: 500 }, (_, i) => ({ value: String(i % 3 ? i : -i), half: i % 2 ? "a" : "b" })),
  );
  await store.append("logs", rows);
  await store.seal();
  const of = { field: attribute("value") };
  const extremes: Aggregation[] = [
    { op: "max", of },
    { op: "count" },
    { op: "min", of: { field: attribute("none") } },
  ];
  const query = makeQuery(rows, extremes);
  const isHalf: Filter = { kind: "equals", field: attribute("half"), value: "a" };
  const part = rows.filter(({ attributes }) => attributes.half === "a");
  const steps: AggregateQuery["steps"] = [{ kind: "filter", filter: isHalf }];
  const naiveSum = rows.reduce((sum, { attributes }) => sum + Number(attributes.value), 0);
  const asked: [AggregateQuery, number[], number][] = [
    [query, [499, 500, Number.NaN], 0],
    [{ ...query, steps }, [499, part.length, Number.NaN], 500],
    [{ ...query, toNs: query.fromNs + 100n }, [98, 100, Number.NaN], 100],
    [{ ...query, aggregates: [...extremes, { op: "sum", of }] }, [499, 500, Number.NaN, naiveSum], 500],
  ];
  for (const [each, wanted, scannedRows] of asked) {
    const { points, scanned } = await store.aggregate(each);
    expect(points.values.map((values) => values[0])).toEqual(wanted);
    expect(scanned.rows).toBe(scannedRows);
  }
});

test.each([-0.1, 1.1, Number.NaN])(
  "a quantile of rank %d is an error that names the valid range",
  async (q) => {
    const query = makeQuery(makeRows([{}]), [{ op: "quantile", of: { field: attribute("value") }, q }]);
    await expect(store.aggregate(query)).rejects.toMatchObject({
      kind: "input",
      message: expect.stringContaining("between 0 and 1"),
    });
  },
);

test("numbers and hashes count towards the memory limit", async () => {
  const rows = makeRows(Array.from({ length: 60_000 }, (_, i) => ({ value: `${i}` })));
  await store.append("logs", rows);
  await store.seal();
  const of = attribute("value");
  const ask = (aggregate: Aggregation) =>
    store.aggregate(makeQuery(rows, [aggregate]), { memoryBytes: 1_200_000 });
  await ask({ op: "max", of: { field: of } });
  await expect(ask({ op: "distinct", of })).rejects.toMatchObject({ kind: "limit" });
});

test("decimal numbers in bytes are read as in strings", () => {
  const text = fc.oneof(
    fc.stringMatching(/^[+-]?\d{0,18}\.?\d{0,18}(e[+-]?\d{0,3})?$/),
    fc.double().map(String),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(text, (each) => {
      const bytes = Buffer.from(`x${each}y`);
      const number = parseDecimal(each) ?? Number.NaN;
      expect(Object.is(parseDecimalBytes(bytes, 1, bytes.length - 1), number), each).toBe(true);
    }),
    { seed, numRuns: 5_000 },
  );
});

describe(`above the limits of exact states (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  const uniform = () => random.next() / 2 ** 32;
  const oneCell = (rows: number) => ({
    heap: plainColumns,
    selection: null,
    cellOf: () => new Uint8Array(rows),
    counts: Uint32Array.of(rows),
    usedCells: Uint32Array.of(0),
    points: Uint32Array.of(0),
  });

  test.each<[string, () => number]>([
    ["of one size", () => uniform() * 100],
    ["of every size", () => 10 ** (uniform() * 600 - 300)],
    ["on both sides of zero", () => (uniform() - 0.5) * 1e6],
    ["mostly zero", () => (random.oneIn(10) ? uniform() : 0)],
    ["sometimes infinite", () => (random.oneIn(20) ? Number.POSITIVE_INFINITY : uniform())],
  ])("quantiles of numbers %s stay within 0.5 %%", (_name, draw) => {
    const numbers = Float64Array.from({ length: 20_000 }, draw);
    const parts = [numbers.subarray(0, 5_000), numbers.subarray(5_000, 12_000), numbers.subarray(12_000)];
    // Two parts exceed their limit, one does not.
    const qs = [0, 0.01, 0.5, 0.75, 0.99, 0.999, 1];
    const merged = new Quantiles(qs, 30_000);
    for (const [i, values] of parts.entries()) {
      const part = new Quantiles(qs, i === 0 ? 10_000 : 4_000);
      part.add({ ...oneCell(values.length), values }, () => false);
      merged.merge(part.finish(), Uint32Array.of(1));
    }
    const sorted = numbers.slice().sort();
    const all = merged.values(2);
    for (const [i, q] of qs.entries()) {
      const [none, found] = all[i]!;
      const rank = q * (sorted.length - 1);
      const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
      const share = rank - Math.floor(rank);
      const wanted = low === high ? low : low + (high - low) * share;
      const error = 0.005 * Math.max(Math.abs(low), Math.abs(high));
      expect(none).toBeNaN();
      expect(found === wanted || Math.abs(found! - wanted) <= error, `${q}: ${found}, not ${wanted}`).toBe(
        true,
      );
    }
  });

  test.each([10, 999, 1_000, 1_001, 20_000, 300_000])("different texts, %d of them, are counted", (count) => {
    const low = Uint32Array.from({ length: count }, () => random.next());
    const high = Uint32Array.from({ length: count }, () => random.next());
    const halves = [0, 1].map((half) => {
      const texts = new DistinctCounts(1_000);
      // Two thirds each, so that one third is in both.
      const from = Math.floor((half * count) / 3);
      const to = half === 0 ? Math.ceil((count * 2) / 3) : count;
      const rows = { low: low.subarray(from, to), high: high.subarray(from, to), codes: null };
      texts.add(oneCell(to - from), rows, 1);
      return texts.finish(1);
    });
    const merged = new DistinctCounts(1_000);
    for (const half of halves) merged.merge(half, Uint32Array.of(2), 3);
    const [none, , found] = merged.values(3);
    expect(none).toBe(0);
    if (count <= 1_000) expect(found).toBe(count);
    // Five standard errors, because every run draws other hashes.
    else expect(Math.abs(found! / count - 1)).toBeLessThan(5 * 0.0081);
  });
});
