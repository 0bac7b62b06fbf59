/** Aggregates samples by naive loops: the reference for the store. */
import type { Sample, SampleQuery } from "../../../engine/index.ts";

interface NaiveSeries {
  labels: Record<string, string>;
  type: string;
  /** In ascending order of time. */
  samples: { timeNs: bigint; value: number }[];
}

const hourNs = 3_600_000_000_000n;

/** The series of a metric by their labels. Of samples at the same time the last one in `samples` is kept. */
function seriesOf(samples: readonly Sample[], name: string): NaiveSeries[] {
  const all = new Map<string, NaiveSeries & { at: Map<bigint, number> }>();
  for (const sample of samples) {
    if (sample.name !== name) continue;
    const labels = Object.fromEntries(Object.entries(sample.labels).filter(([, value]) => value !== ""));
    const key = JSON.stringify(Object.entries(labels).sort());
    const series = all.get(key) ?? { labels, type: "unknown", samples: [], at: new Map() };
    all.set(key, series);
    if (sample.type !== "unknown") series.type = sample.type;
    series.at.set(sample.timeNs, sample.value);
  }
  return [...all.values()].map(({ labels, type, at }) => ({
    labels,
    type,
    samples: [...at]
      .filter(([, value]) => !Number.isNaN(value))
      .map(([timeNs, value]) => ({ timeNs, value }))
      .sort((a, b) => (a.timeNs < b.timeNs ? -1 : 1)),
  }));
}

function kindOf({ type }: NaiveSeries, query: SampleQuery): "gauge" | "counter" | "delta" {
  if (query.of === "value") return "gauge";
  if (type === "delta") return "delta";
  if (query.of === "increase" || type === "counter") return "counter";
  if (type === "unknown" && /_(total|bucket)$/.test(query.name)) return "counter";
  return "gauge";
}

/** The values and increases of a series in each bucket. */
function bucketsOf(
  series: NaiveSeries,
  query: SampleQuery,
): Map<number, { values: number[]; increases: number[] }> {
  const { fromNs, toNs, bucketNs } = query;
  const kind = kindOf(series, query);
  const buckets = new Map<number, { values: number[]; increases: number[] }>();
  for (const [i, { timeNs, value }] of series.samples.entries()) {
    if (timeNs < fromNs || timeNs >= toNs) continue;
    const bucket = bucketNs === undefined ? 0 : Number(timeNs / bucketNs - fromNs / bucketNs);
    const samples = buckets.get(bucket) ?? { values: [], increases: [] };
    buckets.set(bucket, samples);
    samples.values.push(value);
    const before = series.samples[i - 1];
    if (kind === "delta") samples.increases.push(value);
    else if (kind === "counter" && before !== undefined && timeNs - before.timeNs <= hourNs) {
      samples.increases.push(value < before.value ? value : value - before.value);
    }
  }
  return buckets;
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** The values that a series contributes to an aggregate in a bucket. */
function contributionOf(
  series: NaiveSeries,
  query: SampleQuery,
  samples: { values: number[]; increases: number[] },
): number[] {
  const { op } = query.aggregate;
  if (op === "distinct" || op === "count") {
    const isIncrease = query.of === "increase" && kindOf(series, query) === "counter";
    return isIncrease && samples.increases.length === 0 ? [] : [0];
  }
  if (kindOf(series, query) !== "gauge")
    return samples.increases.length === 0 ? [] : [sum(samples.increases)];
  if (op === "min" || op === "max" || op === "quantile") return samples.values;
  return [sum(samples.values) / samples.values.length];
}

function reduce(query: SampleQuery, values: readonly number[], texts: ReadonlySet<string>): number {
  const { aggregate } = query;
  const average = sum(values) / values.length;
  switch (aggregate.op) {
    case "count":
      return values.length;
    case "sum":
      return sum(values);
    case "avg":
      return average;
    case "min":
      return Math.min(...values);
    case "max":
      return Math.max(...values);
    case "stddev":
      return Math.sqrt(sum(values.map((value) => (value - average) ** 2)) / values.length);
    case "distinct":
      return texts.size;
    case "statistics":
      throw new Error("statistics are of single series");
    case "quantile": {
      const sorted = values.toSorted((a, b) => a - b);
      const rank = aggregate.q * (sorted.length - 1);
      const [below, above] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
      if (values.some(Number.isNaN)) return Number.NaN;
      return below === above ? below : below + (above - below) * (rank - Math.floor(rank));
    }
  }
}

/** The points of a query by group and bucket; `passes` stands for the query's steps. */
export function naiveAggregate(
  samples: readonly Sample[],
  query: SampleQuery,
  passes: (labels: Readonly<Record<string, string>>) => boolean,
): Map<string, number> {
  const { groupBy, aggregate } = query;
  const points = new Map<string, { values: number[]; texts: Set<string> }>();
  for (const series of seriesOf(samples, query.name)) {
    const { labels } = series;
    if (!passes(labels)) continue;
    const group = Array.isArray(groupBy)
      ? groupBy.map((field) => (field.kind === "attribute" ? (labels[field.key] ?? "") : ""))
      : [
          JSON.stringify(
            Object.entries(labels)
              .filter(([key]) => !groupBy.without.includes(key))
              .sort(),
          ),
        ];
    for (const [bucket, samples] of bucketsOf(series, query)) {
      const contributed = contributionOf(series, query, samples);
      if (contributed.length === 0) continue;
      const key = JSON.stringify([group, bucket]);
      const point = points.get(key) ?? { values: [], texts: new Set() };
      points.set(key, point);
      // A series contributes one value, except a gauge to `min`, `max` and `quantile`.
      point.values.push(...contributed);
      const text = aggregate.op === "distinct" ? (labels[aggregate.label] ?? "") : "";
      if (text !== "") point.texts.add(text);
    }
  }
  return new Map([...points].map(([key, { values, texts }]) => [key, reduce(query, values, texts)]));
}
