/** The series of metrics, and their values in each bucket. */
import {
  type BucketedRange,
  bucketOf,
  isInRange,
  labelKeyOf,
  type NaiveSample,
  type NaiveTimeseries,
  RefusedError,
  secondsOf,
} from "./data.ts";
import { charactersOf, checkMatcher, isMatcherMet, type SelectorNode } from "./rows.ts";
import { computeWindow } from "./window-functions.ts";

/** A series of a metric. Its samples are in order of time, with one sample per time and without NaN. */
export interface MetricSeries {
  labels: Readonly<Record<string, string>>;
  isCounter: boolean;
  isDelta: boolean;
  samples: NaiveSample[];
}

const hourNs = 3_600_000_000_000n;

export function selectSeries(selector: SelectorNode, samples: readonly NaiveSample[]): MetricSeries[] {
  if (selector.of.kind !== "metric") return [];
  if (selector.stages.length > 0) throw new RefusedError("stage of a metric");
  const name = charactersOf(selector.of.name);
  for (const matcher of selector.matchers) checkMatcher(matcher);
  const groups = Map.groupBy(
    samples.filter((sample) => sample.name === name && !Number.isNaN(sample.value)),
    ({ labels }) => labelKeyOf(labels),
  );
  return [...groups.values()]
    .map((all) => seriesOf(name, all))
    .filter(({ labels }) =>
      selector.matchers.every((matcher) => {
        return isMatcherMet(matcher, labels[charactersOf(matcher.label.name)], false);
      }),
    );
}

function seriesOf(name: string, all: readonly NaiveSample[]): MetricSeries {
  const byTime = new Map<bigint, NaiveSample>();
  for (const sample of all.toSorted((a, b) => a.arrival - b.arrival)) byTime.set(sample.timeNs, sample);
  const declared = all.find(({ type }) => type !== "unknown")?.type;
  return {
    labels: all[0]!.labels,
    isCounter: declared === undefined ? /_(total|bucket)$/.test(name) : declared !== "gauge",
    isDelta: declared === "delta",
    samples: [...byTime.values()].sort((a, b) => (a.timeNs < b.timeNs ? -1 : 1)),
  };
}

/** The samples within the range, by the start of their bucket. */
export function groupSamplesByBucket({ samples }: MetricSeries, range: BucketedRange): Map<number, number[]> {
  const buckets = new Map<number, number[]>();
  for (const sample of samples) {
    if (!isInRange(sample, range)) continue;
    const bucketMs = bucketOf(sample, range);
    buckets.set(bucketMs, [...(buckets.get(bucketMs) ?? []), sample.value]);
  }
  return buckets;
}

/** What a function calculates of the samples in each bucket, of which the range may have but a part. */
export function computeWindows(
  op: string,
  { labels, samples }: MetricSeries,
  range: BucketedRange,
  parameter: number,
): NaiveTimeseries {
  const inRange = samples.filter((sample) => isInRange(sample, range));
  const points = [...Map.groupBy(inRange, (sample) => bucketOf(sample, range))].flatMap(([bucketMs, own]) => {
    const timed = own.map(({ timeNs, value }) => [Number(timeNs / 1_000n) / 1e3, value] as const);
    const fromMs = Math.max(bucketMs, range.startMs);
    const value = computeWindow(op, timed, [fromMs, fromMs + secondsOf(bucketMs, range) * 1000], parameter);
    return value === undefined || Number.isNaN(value) ? [] : [[bucketMs, value] as const];
  });
  return { labels, points: new Map(points) };
}

/** The increase in each bucket: the sum of the increases of its samples. */
export function computeIncreases(series: MetricSeries, range: BucketedRange): NaiveTimeseries {
  const points = new Map<number, number>();
  series.samples.forEach((sample, index) => {
    const increase = series.isDelta ? sample.value : increaseOf(sample, series.samples[index - 1]);
    if (increase === undefined || !isInRange(sample, range)) return;
    const bucketMs = bucketOf(sample, range);
    points.set(bucketMs, (points.get(bucketMs) ?? 0) + increase);
  });
  return { labels: series.labels, points };
}

/**
 * The increase of a counter at a sample. The first sample in an hour is a baseline, a sample below the last one a
 * reset.
 */
function increaseOf(sample: NaiveSample, before: NaiveSample | undefined): number | undefined {
  if (before === undefined || sample.timeNs - before.timeNs > hourNs) return undefined;
  return sample.value < before.value ? sample.value : sample.value - before.value;
}

export function divideBySeconds({ labels, points }: NaiveTimeseries, range: BucketedRange): NaiveTimeseries {
  const rates = [...points].map(([bucketMs, value]): [number, number] => {
    return [bucketMs, value / secondsOf(bucketMs, range)];
  });
  return { labels, points: new Map(rates) };
}
