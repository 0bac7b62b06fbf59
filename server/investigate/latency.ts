/** Latency of services and of the way between them, compared with what is usual. */

import type { SpanGraph } from "../../query/index.ts";
import type { Invocations } from "./invocations.ts";
import { deviationByMad, medianOf, quantileOf, sorted } from "./statistics.ts";
import type { Telemetry } from "./telemetry.ts";

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
/** (q50 - q10) of normal noise in standard deviations. */
const lowerDecileToDeviation = 1.2816;

/** Logarithms of milliseconds of one operation or edge by chunk. */
interface Series {
  kind: LatencyChange["kind"];
  service: string;
  operation: string;
  caller: string;
  chunks: number[][];
}

export function findLatency(telemetry: Telemetry, invocations: Invocations): ServiceLatency[] {
  const changes: LatencyChange[] = [];
  for (const series of collect(telemetry, invocations)) {
    const change = judge(series, telemetry.timeline.chunks);
    if (change !== undefined) changes.push(change);
  }
  return blame(changes);
}

function collect({ spans, timeline }: Telemetry, invocations: Invocations): Series[] {
  const { count, first, parents, keyOf, keys, chunks } = invocations;
  const selfMs = measureSelf(spans, invocations);
  const found = new Map<string, Series>();
  const add = (of: Omit<Series, "chunks">, chunk: number, ms: number) => {
    if (Number.isNaN(ms)) return;
    const text = JSON.stringify(of);
    let series = found.get(text);
    if (series === undefined) {
      series = { ...of, chunks: Array.from({ length: timeline.chunks + 1 }, () => []) };
      found.set(text, series);
    }
    series.chunks[chunk]!.push(Math.log(Math.max(0, ms) + 0.5));
  };
  for (let i = 0; i < count; i++) {
    const chunk = chunks[i]!;
    if (chunk === -1) continue;
    const { service, operation, caller } = keys[keyOf[i]!]!;
    add({ kind: "self", service, operation, caller: "" }, chunk, selfMs[i]!);
    if (parents[i] === -1) continue;
    const gap = spans.durationsMs[spans.parents[first[i]!]!]! - spans.durationsMs[first[i]!]!;
    add({ kind: "gap", service, operation: "", caller }, chunk, gap);
  }
  return [...found.values()];
}

/** Milliseconds of each invocation without the calls that it makes. */
function measureSelf(spans: SpanGraph, { count, first, parents }: Invocations): Float64Array {
  const self = Float64Array.from(first, (row) => spans.durationsMs[row]!);
  const subtracted = new Set<number>();
  for (let i = 0; i < count; i++) {
    if (parents[i] === -1) continue;
    const call = spans.parents[first[i]!]!;
    // One client's span may be answered twice, as in a retry below it.
    if (subtracted.has(call)) continue;
    subtracted.add(call);
    self[parents[i]!]! -= spans.durationsMs[call]! || 0;
  }
  return self;
}

function judge({ chunks, ...of }: Series, incident: number): LatencyChange | undefined {
  const own = sorted(chunks[incident]!);
  if (own.length < callsMin) return undefined;
  const before = chunks.slice(0, incident).filter(({ length }) => length >= chunkMin);
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
    ...{ medianMs: Math.exp(median) - 0.5, usualMs: Math.exp(usual) - 0.5, calls: own.length },
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
