/** Makes samples of a series of remote write that protobufjs has decoded. */

import type { MetricType, Sample } from "../../../engine/index.ts";
import { makeExponentialSamples } from "../histogram.ts";
import type { SampleSink } from "../row-sink.ts";
import { bucketsOf } from "./native-histogram.ts";
import type { Long, WireHistogram, WireSample } from "./schema.ts";

export const nameLabel = "__name__";
/**
 * Metric types by their numbers in both versions: unknown, counter, gauge, histogram, gauge histogram, summary, info,
 * state set.
 */
const typesOfNumber: readonly MetricType[] = [
  "unknown",
  "counter",
  "gauge",
  "counter",
  "gauge",
  "counter",
  "gauge",
  "gauge",
];
const summaryType = 5;
/** Suffixes of a family's series after its name. */
export const familySuffixes = /_(?:bucket|count|sum|total|created)$/;
const gaugeHint = 3;

/** How many samples and histograms are stored, of those that a body of version 2.0 sends. */
export interface WrittenCounts {
  samples: number;
  histograms: number;
}

/** What all samples of one series share. */
export type WrittenSeries = Omit<Sample, "timeNs" | "value">;

/** Quantiles of a summary are gauges; its other series are counters. */
export function seriesOf(labels: Record<string, string>, type: number, unit: string): WrittenSeries {
  const { [nameLabel]: name = "", ...others } = labels;
  const isQuantile = type === summaryType && !familySuffixes.test(name);
  return { name, labels: others, unit, type: isQuantile ? "gauge" : (typesOfNumber[type] ?? "unknown") };
}

export function addSeries(
  sink: SampleSink,
  series: WrittenSeries,
  samples: readonly WireSample[],
  histograms: readonly WireHistogram[],
  written: WrittenCounts = { samples: 0, histograms: 0 },
): void {
  for (const { value, timestamp, startTimestamp } of samples) {
    // A staleness marker is a NaN like any other: it stores no sample and so ends the series.
    const sample = { ...series, ...startOf(startTimestamp), timeNs: nanosOf(timestamp), value };
    if (sink.addPoint([sample]) === undefined) written.samples++;
  }
  for (const histogram of histograms) {
    sink.refuseOnProblem(() => {
      if (sink.addPoint(makeHistogramSamples(series, histogram)) === undefined) written.histograms++;
    });
  }
}

function makeHistogramSamples(series: WrittenSeries, histogram: WireHistogram): Sample[] {
  const type = histogram.resetHint === gaugeHint ? "gauge" : "counter";
  const start = startOf(histogram.startTimestamp);
  const shared = { ...series, ...start, type, timeNs: nanosOf(histogram.timestamp) } as const;
  return makeExponentialSamples(shared, bucketsOf(histogram), histogram.sum);
}

/** When a counter began, where that is known. */
export function startOf(ms: Long): Pick<Sample, "startNs"> {
  const startNs = nanosOf(ms);
  return startNs > 0n ? { startNs } : {};
}

function nanosOf(ms: Long): bigint {
  return BigInt(ms.toString()) * 1_000_000n;
}
