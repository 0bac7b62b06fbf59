/** Decodes bodies of Prometheus' remote write, versions 1.0 and 2.0, into samples. */

import type { MetricType, Sample } from "../../../engine/index.ts";
import type { BodyTask } from "../decode-task.ts";
import { makeExponentialSamples } from "../histogram.ts";
import { decodeOrRefuse, makeProtobufRefusal } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";
import { familyKey, readFamilies } from "./families.ts";
import { bucketsOf } from "./native-histogram.ts";
import {
  type Long,
  type WireHistogram,
  type WireSample,
  type WriteRequest1,
  type WriteRequest2,
  writeRequest1,
  writeRequest2,
} from "./schema.ts";

const nameLabel = "__name__";
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
const familySuffixes = /_(?:bucket|count|sum|total|created)$/;
const gaugeHint = 3;

/** How many samples and histograms are stored, of those that a body of version 2.0 sends. */
export interface WrittenCounts {
  samples: number;
  histograms: number;
}

/** What all samples of one series share. */
type Series = Omit<Sample, "timeNs" | "value">;

export function readRemoteWrite1(
  body: Buffer,
  sink: SampleSink,
  { families: shared, sender }: BodyTask,
): void {
  const { timeseries, metadata } = decodeOrRefuse(() =>
    writeRequest1.decode(body),
  ) as unknown as WriteRequest1;
  const familiesInBody = new Map(
    metadata.map(({ metricFamilyName: name, type, unit }) => [name, { name, type, unit }]),
  );
  if (familiesInBody.size > 0) sink.families = [...familiesInBody.values()];
  const earlierFamilies = readFamilies(shared);
  const familyOf = (name: string) => familiesInBody.get(name) ?? earlierFamilies.get(familyKey(sender, name));
  for (const { labels: pairs, samples, histograms } of timeseries) {
    const labels: Record<string, string> = Object.create(null);
    for (const { name, value } of pairs) labels[name] = value;
    const name = labels[nameLabel] ?? "";
    const family = familyOf(name) ?? familyOf(name.replace(familySuffixes, ""));
    addSeries(sink, seriesOf(labels, family?.type ?? 0, family?.unit ?? ""), samples, histograms);
  }
}

export function readRemoteWrite2(body: Buffer, sink: SampleSink): void {
  const { symbols, timeseries } = decodeOrRefuse(() =>
    writeRequest2.decode(body),
  ) as unknown as WriteRequest2;
  const symbol = (index: number): string => {
    const text = symbols[index];
    if (text === undefined) throw makeProtobufRefusal(`symbol ${index} of ${symbols.length} is referred to`);
    return text;
  };
  const written: WrittenCounts = { samples: 0, histograms: 0 };
  for (const { labelsRefs, samples, histograms, metadata, createdTimestamp } of timeseries) {
    if (labelsRefs.length % 2 !== 0) throw makeProtobufRefusal("a series has a label without a value");
    const labels: Record<string, string> = Object.create(null);
    for (let i = 0; i < labelsRefs.length; i += 2)
      labels[symbol(labelsRefs[i]!)] = symbol(labelsRefs[i + 1]!);
    const unit = metadata === null ? "" : symbol(metadata.unitRef);
    const series = { ...seriesOf(labels, metadata?.type ?? 0, unit), ...startOf(createdTimestamp) };
    addSeries(sink, series, samples, histograms, written);
  }
  sink.answer = JSON.stringify(written);
}

/** Quantiles of a summary are gauges; its other series are counters. */
function seriesOf(labels: Record<string, string>, type: number, unit: string): Series {
  const { [nameLabel]: name = "", ...others } = labels;
  const isQuantile = type === summaryType && !familySuffixes.test(name);
  return { name, labels: others, unit, type: isQuantile ? "gauge" : (typesOfNumber[type] ?? "unknown") };
}

function addSeries(
  sink: SampleSink,
  series: Series,
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

function makeHistogramSamples(series: Series, histogram: WireHistogram): Sample[] {
  const type = histogram.resetHint === gaugeHint ? "gauge" : "counter";
  const start = startOf(histogram.startTimestamp);
  const shared = { ...series, ...start, type, timeNs: nanosOf(histogram.timestamp) } as const;
  return makeExponentialSamples(shared, bucketsOf(histogram), histogram.sum);
}

/** When a counter began, where that is known. */
function startOf(ms: Long): Pick<Sample, "startNs"> {
  const startNs = nanosOf(ms);
  return startNs > 0n ? { startNs } : {};
}

function nanosOf(ms: Long): bigint {
  return BigInt(ms.toString()) * 1_000_000n;
}
