/** Metric rows: which samples they become, and which are refused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toClassicBuckets } from "../../../../server/ingest/histogram.ts";
import { readMetricRow } from "../../../../server/ingest/json/metric-row.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const arrivalNs = 5n;
const read = (row: unknown) => readMetricRow(typeof row === "string" ? row : JSON.stringify(row), arrivalNs);

describe("a line", () => {
  test("is a gauge by default; labels are flattened, and other fields become labels", () => {
    const row = { timestamp: 7, name: "cpu", value: 1.5, labels: { k8s: { pod: "a" } }, zone: 3 };
    expect(read(row)).toEqual({
      samples: [
        {
          timeNs: 7_000_000n,
          name: "cpu",
          type: "gauge",
          unit: "",
          labels: { "k8s.pod": "a", zone: "3" },
          value: 1.5,
        },
      ],
      hasOwnTime: true,
    });
  });

  test.each([
    [{ type: "counter" }, "counter"],
    [{ type: "counter", temporality: "delta" }, "delta"],
    [{ type: "counter", temporality: "cumulative" }, "counter"],
    [{ type: "delta" }, "delta"],
  ])("%j is of type %s", (more, type) => {
    expect(read({ name: "x", value: 1, ...more }).samples[0]!.type).toBe(type);
  });

  test.each([
    ["NaN", Number.NaN],
    ["+Inf", Number.POSITIVE_INFINITY],
    ["-Inf", Number.NEGATIVE_INFINITY],
  ])('may have the value "%s"', (text, value) => {
    expect(read({ name: "x", value: text }).samples[0]!.value).toBe(value);
  });

  test.each([
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["-Infinity", Number.NEGATIVE_INFINITY],
  ])("may have the value %s without quotes, as Python writes it", (text, value) => {
    const [sample] = read(`{"name":"NaN","labels":{"a":"\\\\\\":NaN,"},"value":${text}}`).samples;
    expect(sample).toMatchObject({ name: "NaN", labels: { a: '\\":NaN,' }, value });
    expect(() => read(`{"name":"x","value":${text}x}`)).toThrow(/^not JSON/);
  });

  test("gets the time of arrival where it has none, and nanoseconds keep every digit", () => {
    expect(read({ name: "x", value: 1 })).toMatchObject({
      hasOwnTime: false,
      samples: [{ timeNs: arrivalNs }],
    });
    const [sample] = read(
      '{"timeUnixNano":1674981729487160534,"name":"x","value":12345678901234567890}',
    ).samples;
    expect(sample).toMatchObject({ timeNs: 1674981729487160534n, value: 1.2345678901234567e19 });
  });

  const exponential = { name: "x", type: "exponential_histogram", scale: 0 };
  const histogram = { name: "x", type: "histogram", bounds: [1, 2], counts: [1, 2, 3] };
  test.each([
    [{ value: 1 }, "name is required: the name of the metric, a text"],
    [{ name: "" }, 'name must be the name of the metric, a text, got ""'],
    [{ name: "x" }, 'value is required: a number, or one of "NaN", "+Inf" and "-Inf"'],
    [{ name: "x", value: "1" }, 'value must be a number, or one of "NaN", "+Inf" and "-Inf", got "1"'],
    [
      { name: "x", value: 1, type: "gage" },
      'type must be one of gauge, counter, delta, histogram, exponential_histogram, got "gage"; did you mean gauge?',
    ],
    [{ name: "x", value: 1, unit: 5 }, "unit must be a text, got 5"],
    [{ name: "x", value: 1, labels: [] }, "labels must be a JSON object, got an array"],
    [
      { name: "x", value: 1, timestamp: "now" },
      'timestamp must be an integer, Unix time in milliseconds, got "now"',
    ],
    [
      { name: "x", value: 1, temporality: "delta" },
      "temporality does not go with the type gauge, but with counter, delta, histogram, exponential_histogram",
    ],
    [
      { name: "x", value: 1, type: "counter", temporality: "odd" },
      'temporality must be cumulative or delta, got "odd"',
    ],
    [
      { name: "x", value: 1, type: "delta", temporality: "cumulative" },
      'temporality must be delta, got "cumulative"',
    ],
    [{ name: "x", value: 1, bounds: [] }, "bounds does not go with the type gauge, but with histogram"],
    [{ ...histogram, value: 1 }, "value does not go with the type histogram, but with gauge, counter, delta"],
    [{ ...histogram, counts: undefined }, "counts is required: an array of numbers"],
    [{ ...histogram, counts: [1, 2] }, "counts must have one element more than bounds, got 2 and 2"],
    [{ ...histogram, counts: [1, -2, 3] }, "counts[1] must be a number, 0 or more, got -2"],
    [{ ...histogram, bounds: [2, 2] }, "bounds must ascend, got 2 after 2"],
    [{ ...histogram, bounds: ["a", 2] }, 'bounds[0] must be a number, got "a"'],
    [{ ...histogram, count: 7 }, "count must be the sum of the buckets' own counts, which is 6, got 7"],
    [{ ...exponential, scale: 0.5 }, "scale must be an integer from -10 to 20, got 0.5"],
    [{ ...exponential, positive: [] }, "positive must be a JSON object, got an array"],
    [{ ...exponential, positive: { offset: 1.5 } }, "positive.offset must be a 32-bit integer, got 1.5"],
    [
      { ...exponential, negative: { bucketCounts: [1, "x"] } },
      'negative.bucketCounts[1] must be a number, 0 or more, got "x"',
    ],
  ])("%j is refused", (row, problem) => {
    expect(() => read(row)).toThrow(expect.objectContaining({ kind: "field", message: problem }));
  });
});

describe("a histogram", () => {
  const valuesOf = (row: unknown) =>
    read(row).samples.map(({ name, type, labels, value }) => [name, type, labels, value]);

  test("becomes classic series with cumulative counts", () => {
    const row = {
      name: "took",
      type: "histogram",
      labels: { a: "b" },
      bounds: [0.5, 10],
      counts: [2, 0, 3],
      sum: 44.5,
      count: 5,
    };
    expect(valuesOf(row)).toEqual([
      ["took_bucket", "counter", { a: "b", le: "0.5" }, 2],
      ["took_bucket", "counter", { a: "b", le: "10" }, 2],
      ["took_bucket", "counter", { a: "b", le: "+Inf" }, 5],
      ["took_sum", "counter", { a: "b" }, 44.5],
      ["took_count", "counter", { a: "b" }, 5],
    ]);
  });

  test("has no sum series without a sum, and may have delta temporality", () => {
    const row = { name: "x", type: "histogram", temporality: "delta", bounds: [], counts: [4] };
    expect(valuesOf(row)).toEqual([
      ["x_bucket", "delta", { le: "+Inf" }, 4],
      ["x_count", "delta", {}, 4],
    ]);
  });

  test("that is exponential gets the powers of its base as bounds", () => {
    const row = {
      name: "x",
      type: "exponential_histogram",
      scale: 0,
      zeroCount: 1,
      positive: { offset: 1, bucketCounts: [2, 0, 3] },
      negative: { offset: 0, bucketCounts: [4] },
    };
    expect(valuesOf(row)).toEqual([
      ["x_bucket", "counter", { le: "-2" }, 0],
      ["x_bucket", "counter", { le: "-1" }, 4],
      ["x_bucket", "counter", { le: "0" }, 5],
      ["x_bucket", "counter", { le: "2" }, 5],
      ["x_bucket", "counter", { le: "4" }, 7],
      ["x_bucket", "counter", { le: "8" }, 7],
      ["x_bucket", "counter", { le: "16" }, 10],
      ["x_bucket", "counter", { le: "+Inf" }, 10],
      ["x_count", "counter", {}, 10],
    ]);
  });
});

/** The bucket of a value, by OpenTelemetry's definition: a value that equals a bound lies below it. */
function indexOf(value: number, scale: number): number {
  return Math.ceil(Math.log2(value) * 2 ** scale) - 1;
}

function rangeOf(indexes: readonly number[]): { offset: number; bucketCounts: number[] } {
  if (indexes.length === 0) return { offset: 0, bucketCounts: [] };
  const offset = Math.min(...indexes);
  const bucketCounts = Array.from({ length: Math.max(...indexes) - offset + 1 }, () => 0);
  for (const index of indexes) bucketCounts[index - offset]!++;
  return { offset, bucketCounts };
}

test(`converted exponential histograms keep each value on its side of every bound (SVC_SEED=${seed})`, () => {
  // Values are never powers of the base themselves, where rounding would decide.
  const value = fc.double({ min: 1e-6, max: 1e6, noNaN: true }).map((x) => x * 1.000_123);
  const values = fc.array(fc.tuple(value, fc.constantFrom(1, -1, 0)), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(values, fc.integer({ min: -3, max: 8 }), (list, scale) => {
      const all = list.map(([x, sign]) => x * sign);
      const buckets = toClassicBuckets({
        scale,
        zeroCount: all.filter((x) => x === 0).length,
        zeroThreshold: 0,
        positive: rangeOf(all.filter((x) => x > 0).map((x) => indexOf(x, scale))),
        negative: rangeOf(all.filter((x) => x < 0).map((x) => indexOf(-x, scale))),
      });
      expect(buckets.bounds.length).toBeLessThanOrEqual(160);
      expect(buckets.counts.length).toBe(buckets.bounds.length + 1);
      let below = 0;
      for (const [i, bound] of buckets.bounds.entries()) {
        if (i > 0) expect(bound).toBeGreaterThan(buckets.bounds[i - 1]!);
        below += buckets.counts[i]!;
        expect(below, `up to ${bound} of ${all}`).toBe(all.filter((x) => x <= bound).length);
      }
      expect(below + buckets.counts.at(-1)!).toBe(all.length);
    }),
    { seed, numRuns: 1_000 },
  );
});
