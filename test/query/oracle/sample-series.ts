/** Aggregations and functions over samples of metrics, and over numbers out of Kubernetes resources. */
import type { Random } from "../../../fixtures/random.ts";
import type { Condition } from "./condition.ts";
import type { Labelled } from "./row.ts";
import { printTiming, timingForms } from "./row-series.ts";
import {
  type Evaluation,
  makeSeries,
  type OracleSeries,
  quantileOf,
  type Span,
  type StoredSeries,
  spanOf,
  summarize,
  type Timing,
} from "./series.ts";
import { quote } from "./text.ts";

export type SampleFunction =
  | { name: "rate" | "increase" | "count_over_time" | "sum_over_time" | "avg_over_time" | "min_over_time" }
  | { name: "max_over_time" | "stddev_over_time" | "last_over_time" | "changes" | "delta" | "deriv" }
  | { name: "quantile_over_time"; q: number }
  | { name: "predict_linear"; seconds: number };

/** A metric with its matchers, and a function around it where there is one. */
export interface MetricRead {
  text: string;
  forms: readonly string[];
  isCounter: boolean;
  read: SampleFunction | undefined;
  /** For each series the samples of the span of each bucket. */
  listSpans(asked: Evaluation): SeriesSpans[];
}

/** A series and, by bucket, its numbers there. */
interface SeriesSpans {
  labels: Readonly<Record<string, string>>;
  /** One number of each bucket: the average of a gauge, the increase of a counter, or what the function gives. */
  numbers: OracleSeries;
  /** All numbers of a bucket: the samples of a gauge, or the one number. */
  all: ReadonlyMap<number, readonly number[]>;
  /** Buckets in which the series has a sample or, of `rate` and `increase`, an increase. */
  present: ReadonlySet<number>;
}

const hourMs = 3_600_000;

/** What a counter has counted in the span, or nothing where no sample there has one before it. */
function increaseIn({ samples }: StoredSeries, { fromMs, toMs }: Span): number | undefined {
  let total: number | undefined;
  for (const [i, { timeMs, value }] of samples.entries()) {
    const before = samples[i - 1];
    if (timeMs < fromMs || timeMs >= toMs || before === undefined || timeMs - before.timeMs > hourMs)
      continue;
    total = (total ?? 0) + (value < before.value ? value : value - before.value);
  }
  return total;
}

export function readMetric(
  name: string,
  isCounter: boolean,
  matchers: readonly Condition[],
  read: SampleFunction | undefined,
  timing: Timing,
  random: Random,
): MetricRead {
  const inner = matchers.map(({ text }) => text);
  const head = random.oneIn(6)
    ? `{${[`"${name}"`, ...inner].join(", ")}}`
    : name + (inner.length > 0 ? `{${inner.join(", ")}}` : "");
  const selector = head + printTiming(timing, random);
  const listSpans = (asked: Evaluation) =>
    asked.samples
      .filter(
        (series) => series.name === name && matchers.every((matcher) => matcher.passes(labelsOf(series))),
      )
      .map((series) => spansOf(series, read, timing, asked));
  const forms = [read?.name ?? (isCounter ? "counter" : "gauge"), ...timingForms(timing)];
  return { text: printRead(read, selector), forms, isCounter, read, listSpans };
}

function labelsOf({ labels }: { labels: Readonly<Record<string, string>> }): Labelled {
  return { hasColumns: false, isMilliseconds: () => false, readLabel: (name) => labels[name] };
}

function printRead(read: SampleFunction | undefined, selector: string): string {
  if (read === undefined) return selector;
  if (read.name === "quantile_over_time") return `quantile_over_time(${read.q}, ${selector})`;
  if (read.name === "predict_linear") return `predict_linear(${selector}, ${read.seconds})`;
  return `${read.name}(${selector})`;
}

function spansOf(
  series: StoredSeries,
  read: SampleFunction | undefined,
  timing: Timing,
  asked: Evaluation,
  isOneNumber = read !== undefined || series.isCounter,
): SeriesSpans {
  const all = new Map<number, readonly number[]>();
  const present = new Set<number>();
  const numbers = makeSeries(series.labels, asked.buckets, (bucket) => {
    const span = spanOf(bucket, timing);
    const inSpan = series.samples.filter(({ timeMs }) => timeMs >= span.fromMs && timeMs < span.toMs);
    const values = inSpan.map(({ value }) => value);
    const number = readSpan(series, inSpan, span, read, timing);
    const counts = read === undefined ? values.length > 0 : number !== undefined;
    if (counts) present.add(bucket.startMs);
    if (number !== undefined) all.set(bucket.startMs, isOneNumber ? [number] : values);
    return number;
  });
  return { labels: series.labels, numbers, all, present };
}

type TimedValues = StoredSeries["samples"];

function readSpan(
  series: StoredSeries,
  samples: TimedValues,
  span: Span,
  read: SampleFunction | undefined,
  timing: Timing,
): number | undefined {
  const values = samples.map(({ value }) => value);
  const counted = () => increaseIn(series, span);
  if (read === undefined) return series.isCounter ? counted() : summarize("avg", values);
  if (read.name === "increase") return counted();
  if (read.name === "rate") {
    const increase = counted();
    return increase === undefined ? undefined : increase / span.seconds;
  }
  if (values.length === 0) return undefined;
  switch (read.name) {
    case "count_over_time":
      return values.length;
    case "sum_over_time":
      return summarize("sum", values);
    case "avg_over_time":
      return summarize("avg", values);
    case "min_over_time":
      return summarize("min", values);
    case "max_over_time":
      return summarize("max", values);
    case "stddev_over_time":
      return summarize("stddev", values);
    case "last_over_time":
      return values.at(-1);
    case "changes":
      return values.filter((value, i) => i > 0 && value !== values[i - 1]).length;
    case "quantile_over_time":
      return quantileOf(values, read.q);
    case "delta":
      return extrapolate(samples, span);
    case "deriv":
      return fitLine(samples)?.slope;
    case "predict_linear": {
      const line = fitLine(samples);
      if (line === undefined) return undefined;
      const seconds = (span.toMs + timing.offsetMs - line.originMs) / 1000 + read.seconds;
      return line.atOrigin + line.slope * seconds;
    }
  }
}

/** The newest less the oldest, extrapolated as Prometheus' `extrapolatedRate` does it for gauges. */
function extrapolate(samples: TimedValues, { fromMs, toMs }: Span): number | undefined {
  if (samples.length < 2) return undefined;
  const [first, last] = [samples[0]!, samples.at(-1)!];
  const sampledMs = last.timeMs - first.timeMs;
  const averageMs = sampledMs / (samples.length - 1);
  const reach = (gapMs: number) => (gapMs >= averageMs * 1.1 ? averageMs / 2 : gapMs);
  const wholeMs = sampledMs + reach(first.timeMs - fromMs) + reach(toMs - last.timeMs);
  return ((last.value - first.value) * wholeMs) / sampledMs;
}

/** The line of least squares through the samples: its value at the first, and its slope a second. */
function fitLine(samples: TimedValues): { originMs: number; atOrigin: number; slope: number } | undefined {
  if (samples.length < 2) return undefined;
  const originMs = samples[0]!.timeMs;
  const times = samples.map(({ timeMs }) => (timeMs - originMs) / 1000);
  const [meanTime, meanValue] = [
    summarize("avg", times)!,
    summarize(
      "avg",
      samples.map(({ value }) => value),
    )!,
  ];
  let [covariance, variance] = [0, 0];
  for (const [i, { value }] of samples.entries()) {
    covariance += (times[i]! - meanTime) * (value - meanValue);
    variance += (times[i]! - meanTime) ** 2;
  }
  const slope = covariance / variance;
  return { originMs, atOrigin: meanValue - slope * meanTime, slope };
}

/** `json_path("path", kubernetes_resources)`: each resource is read like a gauge. */
export function readResources(
  path: string,
  matchers: readonly Condition[],
  timing: Timing,
  random: Random,
): MetricRead {
  const braces = matchers.length > 0 ? `{${matchers.map(({ text }) => text).join(", ")}}` : "";
  const text = `json_path(${quote(path, random)}, kubernetes_resources${braces}${printTiming(timing, random)})`;
  const listSpans = (asked: Evaluation) =>
    asked.resources
      .filter(
        (series) => series.name === path && matchers.every((matcher) => matcher.passes(labelsOf(series))),
      )
      .map((series) => spansOf(series, undefined, timing, asked, true));
  return { text, forms: ["json_path", ...timingForms(timing)], isCounter: false, read: undefined, listSpans };
}
