/** Turns OTLP metrics in JSON form into samples, by the point types of OpenTelemetry's data model. */

import type { MetricType, Sample } from "../../../engine/index.ts";
import {
  type ExponentialRange,
  makeClassicSamples,
  makeExponentialSamples,
  toClassicBuckets,
} from "../histogram.ts";
import { isGiven, type JsonFields, makeFieldProblem, RowProblem, scalarText } from "../json/json-row.ts";
import type { SampleSink } from "../row-sink.ts";
import {
  type Attributes,
  addAttributes,
  beginRecord,
  countOf,
  doubleOf,
  integerOf,
  stringOf,
  timeOf,
  toObject,
  toObjects,
} from "./json-value.ts";

/** What all samples of one point share. */
type Shared = Omit<Sample, "value">;

/** Makes the samples of one point. Throws RowProblem. */
type SamplesOf = (point: JsonFields, shared: Shared) => Sample[];

const kinds: Readonly<Record<string, SamplesOf>> = {
  gauge: makeNumberSamples,
  sum: makeNumberSamples,
  histogram: makeHistogramSamples,
  exponentialHistogram: readExponentialSamples,
  summary: makeSummarySamples,
};

/** Bit of `flags`: the series has no value at this time (metrics.proto, "DataPointFlags"). */
const noRecordedValue = 1;
const deltaTemporality = ["1", "AGGREGATION_TEMPORALITY_DELTA"];

/**
 * Adds all points of a metric; a bad point is refused by itself. Throws RowProblem where the metric as a whole is
 * malformed.
 */
export function addMetric(sink: SampleSink, metric: JsonFields, base: Attributes): void {
  const name = stringOf(metric.name, "name");
  const kind = Object.keys(kinds).find((each) => isGiven(metric[each]));
  if (kind === undefined) throw new RowProblem("field", `metric ${JSON.stringify(name)} has no data`);
  const data = toObject(metric[kind], kind) ?? {};
  const shared = { name, unit: stringOf(metric.unit, "unit"), type: readType(kind, data) };
  for (const point of toObjects(data.dataPoints, `${kind}.dataPoints`)) {
    sink.refuseOnProblem(() => sink.addPoint(makePointSamples(point, kinds[kind]!, shared, base, sink)));
  }
}

/** Sums that may fall are gauges, unless they are sent as deltas. */
function readType(kind: string, data: JsonFields): MetricType {
  if (kind === "gauge") return "gauge";
  if (kind === "summary") return "counter";
  if (deltaTemporality.includes(scalarText(data.aggregationTemporality))) return "delta";
  return kind === "sum" && data.isMonotonic !== true ? "gauge" : "counter";
}

function makePointSamples(
  point: JsonFields,
  makeSamples: SamplesOf,
  metric: Pick<Sample, "name" | "unit" | "type">,
  base: Attributes,
  sink: SampleSink,
): Sample[] {
  const attributes = beginRecord(base);
  addAttributes(attributes, point.attributes, "attributes");
  const time = timeOf(point, "timeUnixNano");
  const start = metric.type === "counter" ? timeOf(point, "startTimeUnixNano") : 0n;
  const shared: Shared = {
    ...metric,
    labels: attributes.texts,
    timeNs: time === 0n ? sink.arrivalNs() : time,
    ...(start === 0n || time === 0n ? {} : { startNs: start }),
  };
  const samples = makeSamples(point, shared);
  const isStale = (countOf(point, "flags") & noRecordedValue) !== 0;
  return isStale ? samples.map((sample) => ({ ...sample, value: Number.NaN })) : samples;
}

function makeNumberSamples(point: JsonFields, shared: Shared): Sample[] {
  if (isGiven(point.asInt)) return [{ ...shared, value: Number(integerOf(point.asInt, "asInt")) }];
  const hasNone = (countOf(point, "flags") & noRecordedValue) !== 0;
  return [{ ...shared, value: hasNone ? Number.NaN : doubleOf(point.asDouble, "asDouble") }];
}

function makeHistogramSamples(point: JsonFields, shared: Shared): Sample[] {
  const bounds = readNumbers(point.explicitBounds, "explicitBounds");
  const sent = readCounts(point.bucketCounts, "bucketCounts");
  // Without buckets, a single bucket counts everything.
  const counts = sent.length === 0 && bounds.length === 0 ? [readCount(point.count, "count")] : sent;
  if (counts.length !== bounds.length + 1) {
    const got = `got ${counts.length} and ${bounds.length}`;
    throw new RowProblem("field", `bucketCounts must have one element more than explicitBounds, ${got}`);
  }
  if (bounds.some((bound, i) => i > 0 && !(bound > bounds[i - 1]!))) {
    throw new RowProblem("field", "explicitBounds must ascend");
  }
  return makeClassicSamples(shared, { bounds, counts }, readSum(point));
}

function readExponentialSamples(point: JsonFields, shared: Shared): Sample[] {
  const scale = doubleOf(point.scale ?? 0, "scale");
  if (!Number.isInteger(scale) || scale < -10 || scale > 20) {
    throw makeFieldProblem("scale", "an integer from -10 to 20", point.scale);
  }
  const buckets = toClassicBuckets({
    scale,
    zeroCount: readCount(point.zeroCount, "zeroCount"),
    zeroThreshold: isGiven(point.zeroThreshold) ? doubleOf(point.zeroThreshold, "zeroThreshold") : 0,
    positive: readRange(point.positive, "positive"),
    negative: readRange(point.negative, "negative"),
  });
  return makeExponentialSamples(shared, buckets, readSum(point));
}

function makeSummarySamples(point: JsonFields, shared: Shared): Sample[] {
  const quantiles = toObjects(point.quantileValues, "quantileValues").map(({ quantile, value }): Sample => {
    const label = String(doubleOf(quantile ?? 0, "quantileValues.quantile"));
    return {
      ...shared,
      type: "gauge",
      labels: { ...shared.labels, quantile: label },
      value: doubleOf(value ?? 0, "quantileValues.value"),
    };
  });
  return [
    ...quantiles,
    { ...shared, name: `${shared.name}_sum`, value: doubleOf(point.sum ?? 0, "sum") },
    { ...shared, name: `${shared.name}_count`, value: readCount(point.count, "count") },
  ];
}

function readSum({ sum }: JsonFields): number | undefined {
  return isGiven(sum) ? doubleOf(sum, "sum") : undefined;
}

function readRange(value: unknown, name: string): ExponentialRange {
  const range = toObject(value, name);
  const offset = doubleOf(range?.offset ?? 0, `${name}.offset`);
  if (!Number.isInteger(offset) || Math.abs(offset) >= 2 ** 31) {
    throw makeFieldProblem(`${name}.offset`, "a 32-bit integer", range?.offset);
  }
  return { offset, bucketCounts: readCounts(range?.bucketCounts, `${name}.bucketCounts`) };
}

function readNumbers(value: unknown, path: string): number[] {
  return readArray(value, path).map((each) => doubleOf(each, path));
}

function readCounts(value: unknown, path: string): number[] {
  return readArray(value, path).map((each) => readCount(each, path));
}

function readArray(value: unknown, path: string): unknown[] {
  if (!isGiven(value)) return [];
  if (!Array.isArray(value)) throw makeFieldProblem(path, "an array of numbers", value);
  return value;
}

function readCount(value: unknown, path: string): number {
  const count = isGiven(value) ? Number(integerOf(value, path)) : 0;
  if (count < 0) throw makeFieldProblem(path, "a number, 0 or more", value);
  return count;
}
