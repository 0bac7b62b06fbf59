/** Latency of services and of the way between them, compared with what is usual. */

import type { SpanGraph } from "../../../query/index.ts";
import type { Invocations } from "./invocations.ts";
import { deviationByMad, medianOf, quantileOf, sorted } from "./statistics.ts";
import type { Period, Telemetry } from "./telemetry.ts";

/** Time that takes longer than usual: of an operation by itself, or on the way between two services. */
export interface LatencyChange {
  kind: "self" | "gap";
  service: string;
  operation: string;
  /** For a gap: who calls. */
  caller: string;
  /** In standard deviations of the noise. */
  surprise: number;
  /** Milliseconds: the median of the incident, and the usual one. */
  medianMs: number;
  usualMs: number;
  calls: number;
}

export interface ServiceLatency {
  service: string;
  score: number;
  /** True where most of the excess is on the way and not in the service. */
  isNetwork: boolean;
  changes: LatencyChange[];
}

const surpriseMin = 2.5;
const surpriseMax = 12;
const callsMin = 4;
const chunkMin = 3;
const chunksForNoise = 3;
const betweenFloor = 0.05;
const betweenUnknown = 0.15;
const floor = 0.12;
/** Added to milliseconds before their logarithm is taken: differences of a few milliseconds harm nobody. */
const offsetMs = 5;
/** (q50 - q10) of normal noise in standard deviations. */
const lowerDecileToDeviation = 1.2816;

/** Logarithms of milliseconds of one operation or edge by chunk. */
export interface LatencySeries {
  kind: LatencyChange["kind"];
  service: string;
  operation: string;
  caller: string;
  chunks: number[][];
}

/** From this surprise on, slow invocations explain errors of those that wait for them. */
const explainsMin = 5;

/** Invocations of the incident that take much longer by themselves than is usual. */
export function findSlow(
  { spans, timeline }: Telemetry,
  invocations: Invocations,
  latency: readonly ServiceLatency[],
): Set<number> {
  const limits = new Map<string, number>();
  for (const { kind, service, operation, surprise, medianMs, usualMs } of latency.flatMap(
    ({ changes }) => changes,
  ))
    if (kind === "self" && surprise >= explainsMin)
      limits.set(`${service} ${operation}`, Math.sqrt(Math.max(0.1, usualMs) * medianMs));
  const found = new Set<number>();
  if (limits.size === 0) return found;
  const selfMs = measureSelf(spans, invocations);
  const { keyOf, keys, chunks, count, isUnanswered } = invocations;
  for (let i = 0; i < count; i++) {
    if (chunks[i] !== timeline.chunks || isUnanswered[i] === 1) continue;
    const { service, operation } = keys[keyOf[i]!]!;
    if (selfMs[i]! > (limits.get(`${service} ${operation}`) ?? Number.POSITIVE_INFINITY)) found.add(i);
  }
  return found;
}

/** Finds the services that take longer in a period, by themselves or on the way to them. */
export function findLatency(series: readonly LatencySeries[], period: Period): ServiceLatency[] {
  return blame(series.flatMap((each) => judge(each, period) ?? []));
}

export function collectLatency({ spans, timeline }: Telemetry, invocations: Invocations): LatencySeries[] {
  const { count, first, calls, keyOf, keys, chunks, isUnanswered } = invocations;
  const selfMs = measureSelf(spans, invocations);
  const found = new Map<string, LatencySeries>();
  const add = (of: Omit<LatencySeries, "chunks">, chunk: number, ms: number) => {
    if (Number.isNaN(ms)) return;
    const text = JSON.stringify(of);
    let series = found.get(text);
    if (series === undefined) {
      series = { ...of, chunks: Array.from({ length: timeline.total }, () => []) };
      found.set(text, series);
    }
    series.chunks[chunk]!.push(Math.log(Math.max(0, ms) + offsetMs));
  };
  for (let i = 0; i < count; i++) {
    const chunk = chunks[i]!;
    if (chunk === -1 || isUnanswered[i] === 1) continue;
    const { service, operation, caller } = keys[keyOf[i]!]!;
    add({ kind: "self", service, operation, caller: "" }, chunk, selfMs[i]!);
    if (calls[i] === -1) continue;
    const gap = spans.durationsMs[calls[i]!]! - spans.durationsMs[first[i]!]!;
    add({ kind: "gap", service, operation: "", caller }, chunk, gap);
  }
  return [...found.values()];
}

/** Milliseconds of each invocation without the calls that it makes. */
function measureSelf(spans: SpanGraph, { count, first, calls, parents }: Invocations): Float64Array {
  const self = Float64Array.from(first, (row) => spans.durationsMs[row]!);
  const subtracted = new Set<number>();
  for (let i = 0; i < count; i++) {
    if (parents[i] === -1) continue;
    const call = calls[i]!;
    // One client's span may be answered twice, as in a retry below it.
    if (subtracted.has(call)) continue;
    subtracted.add(call);
    self[parents[i]!]! -= spans.durationsMs[call]! || 0;
  }
  return self;
}

function judge({ chunks, ...of }: LatencySeries, period: Period): LatencyChange | undefined {
  const own = sorted(period.incident.flatMap((chunk) => chunks[chunk]!));
  if (own.length < (period.isFocused === true ? 1 : callsMin)) return undefined;
  const before = period.baseline.map((chunk) => chunks[chunk]!).filter(({ length }) => length >= chunkMin);
  if (before.length === 0) return undefined;
  const medians = sorted(before.map(medianOf));
  const usual = quantileOf(medians, 0.3);
  const faster = [...medians.subarray(0, Math.max(1, Math.ceil(medians.length / 2)))];
  const between =
    before.length < chunksForNoise ? betweenUnknown : deviationByMad(faster, medianOf(faster)) + betweenFloor;
  const all = sorted(before.flat());
  const within = (quantileOf(all, 0.5) - quantileOf(all, 0.1)) / lowerDecileToDeviation;
  const noise = Math.sqrt(between ** 2 + (1.25 * within) ** 2 / own.length + floor ** 2);
  const median = quantileOf(own, 0.5);
  const surprise = (median - usual) / noise;
  if (surprise <= surpriseMin) return undefined;
  return {
    ...of,
    surprise,
    ...{ medianMs: Math.exp(median) - offsetMs, usualMs: Math.exp(usual) - offsetMs, calls: own.length },
  };
}

const excessOf = ({ medianMs, usualMs, calls }: LatencyChange) => Math.max(0, medianMs - usualMs) * calls;

/** Blames for time on the way the end that has most of it. */
function blame(changes: readonly LatencyChange[]): ServiceLatency[] {
  const atEnd = new Map<string, number>();
  for (const change of changes) {
    if (change.kind !== "gap") continue;
    for (const end of [change.caller, change.service])
      atEnd.set(end, (atEnd.get(end) ?? 0) + excessOf(change));
  }
  const total = changes.reduce((sum, change) => sum + excessOf(change), 0);
  const blamed = Map.groupBy(changes, ({ kind, service, caller }) =>
    kind === "gap" && atEnd.get(caller)! > atEnd.get(service)! ? caller : service,
  );
  return [...blamed]
    .map(([service, own]) => {
      own.sort((a, b) => b.surprise - a.surprise);
      const share = own.reduce((sum, change) => sum + excessOf(change), 0) / total;
      const gaps = own.filter(({ kind }) => kind === "gap").reduce((sum, each) => sum + excessOf(each), 0);
      const score = Math.min(own[0]!.surprise, surpriseMax) * Math.sqrt(share);
      return { service, score, isNetwork: gaps > (share * total) / 2, changes: own };
    })
    .sort((a, b) => b.score - a.score);
}
