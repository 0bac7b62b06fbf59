/** Pods that use more of a resource than usual. */

import type { QueryLimits } from "../../engine/index.ts";
import { queryTimeseries, type Series } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import { deviationByQuartiles, quantileOf, sorted } from "./statistics.ts";
import type { Incident } from "./telemetry.ts";

/** A pod whose metric is higher than usual. */
export interface Saturation {
  service: string;
  pod: string;
  metric: string;
  /** In standard deviations of the noise. */
  surprise: number;
  /** The highest value of the incident, and the usual one. */
  value: number;
  usual: number;
}

const bucketSeconds = 60;
const metricsMax = 4;
const pointsMin = 5;
/** Noise that is assumed at least: a share of the usual value, and of the highest value of all pods. */
const relativeFloor = 0.1;
const scaleFloor = 0.03;

/** Names of metrics of the CPU of pods. */
const isOfCpu = (name: string) => /cpu/i.test(name) && !/node|limit|request|throttl|total/i.test(name);

/** The most surprising pods first. Throws what the store throws. */
export async function findSaturation(
  store: SearchableStore,
  { startMs, endMs, baselineMs }: Incident,
  limits?: QueryLimits,
): Promise<Saturation[]> {
  const [fromNs, toNs] = [BigInt(baselineMs) * 1_000_000n, BigInt(endMs) * 1_000_000n];
  const names = (await store.metricNames(fromNs, toNs, limits)).map(({ name }) => name).filter(isOfCpu);
  const found: Saturation[] = [];
  for (const metric of names.slice(0, metricsMax)) {
    const query = `max({${JSON.stringify(metric)}}) by (k8s.pod.name, service.name)`;
    const range = { startMs: baselineMs, endMs: endMs - 1 };
    const { series } = await queryTimeseries(store, { query, ...range, bucketSeconds }, limits);
    const scale = quantileOf(sorted(series.flatMap(({ points }) => points.map(([, value]) => value))), 0.999);
    for (const each of series) {
      const saturation = judge(metric, each, startMs, scale);
      if (saturation !== undefined) found.push(saturation);
    }
  }
  return found.sort((a, b) => b.surprise - a.surprise);
}

function judge(
  metric: string,
  { labels, points }: Series,
  startMs: number,
  scale: number,
): Saturation | undefined {
  const isBefore = (ms: number) => ms + bucketSeconds * 1_000 <= startMs;
  const before = sorted(points.filter(([ms]) => isBefore(ms)).map(([, value]) => value));
  const during = points.filter(([ms]) => !isBefore(ms)).map(([, value]) => value);
  if (before.length < pointsMin || during.length === 0) return undefined;
  const usual = quantileOf(before, 0.5);
  const value = Math.max(...during);
  const noise = deviationByQuartiles(before) + relativeFloor * usual + scaleFloor * scale;
  const { "service.name": service = "", "k8s.pod.name": pod = "" } = labels;
  return { service, pod, metric, surprise: noise === 0 ? 0 : (value - usual) / noise, value, usual };
}
