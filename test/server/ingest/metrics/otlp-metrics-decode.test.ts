/** OTLP metrics as they are read from bytes, against the same metrics in JSON: the batches are equal byte for byte. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBody } from "../../../../server/index.ts";
import { otlp } from "../../../../server/ingest/otlp/schema.ts";
import { shareRandomRules } from "../naive-rules.ts";
import { makeSampleTask } from "./kept-series.ts";
import { field } from "./wire-field.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const nowMs = 1_763_000_000_000;
const nanos = (ms: number) => `${ms}000000`;

const value = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("a", "b", "ü", "", "x".repeat(300)).map((stringValue) => ({ stringValue })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object>(
      { intValue: "5" },
      { boolValue: true },
      { doubleValue: 0.5 },
      { arrayValue: { values: [{ stringValue: "a" }, { intValue: "1" }] } },
      { kvlistValue: { values: [{ key: "b", value: { stringValue: "c" } }] } },
      {},
    ),
  },
);
const pair = fc.record({ key: fc.constantFrom("pod", "tier", "service.name", ""), value });
const numbers = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 1.5, -3, Number.NaN).map((asDouble) => ({ asDouble })) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom("0", "7", "-7", "9007199254740993", "-9223372036854775808")
      .map((asInt) => ({ asInt })),
  },
  { weight: 1, arbitrary: fc.constant({}) },
);
const point = fc
  .record({
    attributes: fc.array(pair, { maxLength: 3 }),
    timeUnixNano: fc.constantFrom(
      nanos(nowMs),
      nanos(nowMs),
      nanos(nowMs + 1),
      nanos(nowMs - 86_400_000),
      "0",
      "18446744073709551615",
    ),
    startTimeUnixNano: fc.constantFrom("0", nanos(nowMs - 5_000), nanos(nowMs), nanos(nowMs - 7_200_000)),
    flags: fc.constantFrom(0, 0, 0, 1),
    number: numbers,
  })
  .map(({ number, ...rest }) => ({ ...rest, ...number }));
const metric = fc
  .tuple(
    fc.constantFrom("up", "http_total", "größe", ""),
    fc.constantFrom("", "s", "By", "u".repeat(2_000)),
    fc.constantFrom("gauge", "sum", "sum", "histogram"),
    fc.constantFrom(0, 1, 2, 7),
    fc.boolean(),
    fc.array(point, { maxLength: 4 }),
  )
  .map(([name, unit, kind, aggregationTemporality, isMonotonic, dataPoints]) => {
    if (kind === "gauge") return { name, unit, gauge: { dataPoints } };
    if (kind === "sum") return { name, unit, sum: { dataPoints, aggregationTemporality, isMonotonic } };
    const histograms = dataPoints.map(({ attributes, timeUnixNano }) => ({
      ...{ attributes, timeUnixNano, bucketCounts: ["1", "2"], explicitBounds: [1], sum: 2 },
    }));
    return { name, unit, histogram: { dataPoints: histograms, aggregationTemporality } };
  });
/** Few distinct metrics, so that many series are met again. */
const request = fc.record({
  resource: fc.record({ attributes: fc.array(pair, { maxLength: 3 }) }),
  scope: fc.record({ name: fc.constantFrom("", "scope"), version: fc.constantFrom("", "1") }),
  metrics: fc
    .array(metric, { minLength: 1, maxLength: 4 })
    .chain((some) => fc.array(fc.constantFrom(...some), { maxLength: 8 })),
});
const ruleSets = shareRandomRules(seed);
const admission = fc.option(
  fc.record({
    settings: fc.record({ acceptPastMs: fc.constantFrom(1_000, 400 * 86_400_000) }),
    environment: fc.constantFrom(null, "main"),
    rules: fc.constantFrom(...ruleSets),
  }),
  { nil: undefined },
);
type Order = "usual" | "attributes apart" | "value first" | "data first" | "unknown field";

const encoded = (name: string, fields: object): Buffer => {
  const type = otlp.lookupType(name);
  return Buffer.from(type.encode(type.fromObject(fields)).finish());
};

interface Point {
  attributes: object[];
}

function pointBytes({ attributes, ...rest }: Point, order: Order): Buffer {
  const [before, behind] = [attributes.slice(0, 1), attributes.slice(1)].map((some) =>
    encoded("NumberDataPoint", { attributes: some }),
  ) as [Buffer, Buffer];
  const others = encoded("NumberDataPoint", rest);
  if (order === "attributes apart") return Buffer.concat([before, others, behind]);
  if (order === "value first") return Buffer.concat([others, before, behind]);
  const unknown = order === "unknown field" ? [Buffer.from([0xf8, 0x01, 0x05])] : [];
  return Buffer.concat([before, behind, ...unknown, others]);
}

interface SentMetric {
  name: string;
  unit: string;
  gauge?: { dataPoints: Point[] };
  sum?: { dataPoints: Point[]; aggregationTemporality: number; isMonotonic: boolean };
}

function metricBytes(sent: SentMetric, order: Order): Buffer {
  const { name, unit, gauge, sum } = sent;
  const data = gauge ?? sum;
  if (data === undefined) return encoded("Metric", sent);
  const { dataPoints, ...own } = data;
  const points = dataPoints.map((each) => field(1, pointBytes(each, order)));
  const list = field(gauge === undefined ? 7 : 5, Buffer.concat([...points, encoded("Sum", own)]));
  const texts = [field(1, name), field(3, unit)];
  return Buffer.concat(order === "data first" ? [list, ...texts] : [...texts, list]);
}

test(`points have the same samples in protobuf and in JSON (SVC_SEED=${seed})`, () => {
  let rows = 0;
  const orders = fc.constantFrom<Order>(
    "usual",
    "usual",
    "attributes apart",
    "value first",
    "data first",
    "unknown field",
  );
  fc.assert(
    fc.property(request, orders, admission, ({ resource, scope, metrics }, order, settings) => {
      const list = metrics.map((each) => field(2, metricBytes(each as SentMetric, order)));
      const scopeMetrics = Buffer.concat([field(1, encoded("InstrumentationScope", scope)), ...list]);
      const body = field(1, Buffer.concat([field(1, encoded("Resource", resource)), field(2, scopeMetrics)]));
      const type = otlp.lookupType("MetricsRequest");
      const json = JSON.stringify(
        type.toObject(type.decode(body), { longs: String, bytes: String, json: true }),
      );
      const more = settings === undefined ? {} : { admission: settings };
      const [read, expected] = (["otlp metrics", "otlp metrics json"] as const).map((format) => {
        const sent = format === "otlp metrics" ? body : Buffer.from(json);
        const decoded = decodeBody(makeSampleTask({ format, body: sent, seriesMax: 500, more }));
        if (!decoded.ok) throw new Error(decoded.message);
        return decoded;
      }) as [Decoded, Decoded];
      expect(read.refused).toEqual(expected.refused);
      expect(read.admissionCounts).toEqual(expected.admissionCounts);
      expect(new Set(read.batch.starts)).toEqual(new Set(expected.batch.starts));
      expect(Buffer.from(read.batch.bytes).equals(Buffer.from(expected.batch.bytes))).toBe(true);
      rows += read.batch.rows;
    }),
    { seed, numRuns: 1_500 },
  );
  expect(rows).toBeGreaterThan(1_000);
});

type Decoded = Extract<ReturnType<typeof decodeBody>, { ok: true }>;
