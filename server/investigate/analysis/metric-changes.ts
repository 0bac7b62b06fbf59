/** Metrics of pods and nodes, of any name, that differ from what is usual. */

import { isCounterName, type MetricName, type QueryLimits } from "../../../engine/index.ts";
import { queryTimeseries, type Series } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import { quote } from "../query-text.ts";
import { deviationByQuartiles, quantileOf, sorted } from "./statistics.ts";
import type { Incident } from "./telemetry.ts";

/** What a metric measures, as far as its name tells. */
export type MetricClass = "cpu" | "memory" | "other";

/** A series that differs. */
export interface MetricChange {
  class: MetricClass;
  service: string;
  pod: string;
  node: string;
  metric: string;
  /** In standard deviations of the noise; below zero where the values are lower than usual. */
  surprise: number;
  /** The value of the incident that differs most, and the usual one. For counters: the increase a second. */
  value: number;
  usual: number;
  /** Start of the first minute that differs, Unix milliseconds. */
  atMs: number;
  /** The query that draws it. */
  query: string;
}

export interface MetricChanges {
  /** The most surprising first. */
  changes: MetricChange[];
  /** Series that were read. */
  series: number;
  /** Services that have pods on each node, as far as labels tell. */
  onNode: Record<string, string[]>;
}

const bucketSeconds = 60;
/** Metrics that are looked at: those of CPU and memory, then those with the most series. */
const metricsMax = 60;
const readAtOnce = 4;
const pointsMin = 5;
/** Changes of one metric that are kept: a change of everything is no suspect. */
const ofMetricMax = 20;
/** Smaller differences are noise. */
const surpriseMin = 4;
/** Noise that is assumed at least: a share of the usual value, and of the highest value of all series. */
const relativeFloor = 0.1;
const scaleFloor = 0.03;

function classOf({ name }: Pick<MetricName, "name">): MetricClass {
  // A limit, or the number of periods in which CPU was handed out, is no load.
  if (/limit|request|quota|allocatable|capacity|cfs_periods/i.test(name)) return "other";
  if (/cpu|throttl/i.test(name)) return "cpu";
  return /memory|working_set|rss|heap|_gc_|gc\.|swap/i.test(name) ? "memory" : "other";
}

/** As queries read it: by its declared type, and where none was declared by its name. */
const isCounter = ({ name, type }: MetricName) =>
  type === "counter" || type === "delta" || (type === "unknown" && isCounterName(name));
/** Parts of histograms and summaries, and what tells nothing about load. */
const isLookedAt = ({ name }: MetricName) => !/_bucket$|_info$|_created$|_timestamp/.test(name);
const importance = { cpu: 0, memory: 1, other: 2 };

/** Throws what the store throws. */
export async function findMetricChanges(
  store: SearchableStore,
  incident: Incident,
  limits?: QueryLimits,
): Promise<MetricChanges> {
  const { baselineMs, endMs } = incident;
  const [fromNs, toNs] = [BigInt(baselineMs) * 1_000_000n, BigInt(endMs) * 1_000_000n];
  const names = (await store.metricNames(fromNs, toNs, limits))
    .filter(isLookedAt)
    .sort((a, b) => importance[classOf(a)] - importance[classOf(b)] || b.series - a.series)
    .slice(0, metricsMax);
  const found: MetricChange[] = [];
  const onNode = new Map<string, Set<string>>();
  let read = 0;
  for (let at = 0; at < names.length; at += readAtOnce) {
    const some = names.slice(at, at + readAtOnce);
    const all = await Promise.all(some.map((name) => readMetric(store, name, incident, limits)));
    for (const [i, series] of all.entries()) {
      read += series.length;
      for (const { labels } of series) noteNode(onNode, labels);
      found.push(...judgeMetric(some[i]!, series, incident.startMs));
    }
  }
  return {
    changes: found.sort((a, b) => Math.abs(b.surprise) - Math.abs(a.surprise)),
    series: read,
    onNode: Object.fromEntries([...onNode].map(([node, services]) => [node, [...services]])),
  };
}

function noteNode(onNode: Map<string, Set<string>>, labels: Readonly<Record<string, string>>): void {
  const { "k8s.node.name": node = "", "service.name": service = "" } = labels;
  if (node !== "" && service !== "") onNode.set(node, (onNode.get(node) ?? new Set()).add(service));
}

const groups = "by (service.name, k8s.pod.name, k8s.node.name)";

async function readMetric(
  store: SearchableStore,
  metric: MetricName,
  { baselineMs, endMs }: Incident,
  limits?: QueryLimits,
): Promise<readonly Series[]> {
  const selector = `{${quote(metric.name)}}`;
  const query = isCounter(metric) ? `sum(rate(${selector})) ${groups}` : `max(${selector}) ${groups}`;
  const range = { startMs: baselineMs, endMs: endMs - 1 };
  return (await queryTimeseries(store, { query, ...range, bucketSeconds }, limits)).series;
}

function judgeMetric(metric: MetricName, series: readonly Series[], startMs: number): MetricChange[] {
  const scale = quantileOf(sorted(series.flatMap(({ points }) => points.map(([, value]) => value))), 0.999);
  return series
    .flatMap((each) => judge(metric, each, startMs, Math.abs(scale)) ?? [])
    .sort((a, b) => Math.abs(b.surprise) - Math.abs(a.surprise))
    .slice(0, ofMetricMax);
}

function judge(
  metric: MetricName,
  { labels, points }: Series,
  startMs: number,
  scale: number,
): MetricChange | undefined {
  const isBefore = ([ms]: readonly [number, number]) => ms + bucketSeconds * 1_000 <= startMs;
  const before = sorted(points.filter(isBefore).map(([, value]) => value));
  const during = points.filter((point) => !isBefore(point));
  if (before.length < pointsMin || during.length === 0) return undefined;
  const usual = quantileOf(before, 0.5);
  const noise = deviationByQuartiles(before) + relativeFloor * Math.abs(usual) + scaleFloor * scale;
  if (noise === 0) return undefined;
  const kind = classOf(metric);
  const surpriseOf = (value: number) => (value - usual) / noise;
  // Less CPU or memory than usual harms nobody.
  const strength = (value: number) => (kind === "other" ? Math.abs(surpriseOf(value)) : surpriseOf(value));
  const [, value] = during.reduce((a, b) => (strength(b[1]) > strength(a[1]) ? b : a));
  if (strength(value) < surpriseMin) return undefined;
  const first = during.find(([, each]) => strength(each) >= strength(value) / 2)!;
  const { "service.name": service = "", "k8s.pod.name": pod = "", "k8s.node.name": node = "" } = labels;
  return {
    ...{ class: kind, service, pod, node, metric: metric.name, surprise: surpriseOf(value), value, usual },
    ...{ atMs: Math.max(startMs, first[0]), query: queryOf(metric, { service, pod, node }) },
  };
}

function queryOf(
  metric: MetricName,
  { service, pod, node }: { service: string; pod: string; node: string },
): string {
  const matchers = [
    quote(metric.name),
    ...(pod === "" ? [] : [`k8s.pod.name=${quote(pod)}`]),
    ...(pod === "" && service !== "" ? [`service.name=${quote(service)}`] : []),
    ...(pod === "" && service === "" && node !== "" ? [`k8s.node.name=${quote(node)}`] : []),
  ];
  const selector = `{${matchers.join(", ")}}`;
  return isCounter(metric) ? `sum(rate(${selector}))` : `max(${selector})`;
}
