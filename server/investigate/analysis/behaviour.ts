/** Behaviour of services: what their invocations log and call, compared with what is usual. */

import { hashKey } from "./hashes.ts";
import type { Invocations } from "./invocations.ts";
import { deviationByMad, medianOf, quantileOf, sorted, surpriseOf } from "./statistics.ts";
import type { LogColumns, Period, Telemetry } from "./telemetry.ts";

/** Something that an invocation does or does not: a log after another, a span within, a call. */
interface Feature {
  kind: "logs" | "span" | "call" | "error log" | "error span" | "no answer";
  /** What it is called by: templates for logs, the name of a span, the service and operation of a call, the caller's span. */
  what: string;
}

/** A feature of invocations that is more or less frequent than usual. */
export interface BehaviourChange {
  service: string;
  caller: string;
  operation: string;
  feature: Feature;
  /** In standard deviations; above zero where it is more frequent. */
  surprise: number;
  /** Share of the invocations in the incident. */
  share: number;
  /** The share that is usual. */
  usual: number;
}

/** What is found of one service. */
export interface ServiceBehaviour {
  service: string;
  /** How much its behaviour has changed by itself, in standard deviations. */
  score: number;
  /** Those that differ most first. */
  changes: BehaviourChange[];
}

const surpriseMin = 3.5;
/** One call alone surprises less than many. */
const focusedSurpriseMin = 3;
const differenceMin = 0.08;
const incidentMin = 2;
const baselineMin = 4;
/** A chunk with fewer invocations says nothing about shares. */
const chunkMin = 2;
/** The mix of requests from outside changes by itself: a smaller difference of shares is no evidence. */
const mixMin = 0.3;
const mixWeight = 0.6;
const errorWeight = 1.15;
/** What is known of errors before any call was seen: a share, and how many calls that weighs. */
const errorsAssumed = 0.02;
const callsAssumed = 5;

const isErrorLevel = (level: string) => /^(?:error|fatal|critical|alert|emerg|severe|panic)/.test(level);
const isErrorName = (name: string) => /error|exception/i.test(name);
const isError = ({ kind }: Feature) => kind === "error log" || kind === "error span" || kind === "no answer";

/** How often invocations of a key have features, by chunk. */
export class FeatureCounts {
  readonly features: Feature[] = [];
  /** Invocations by key and chunk. */
  readonly totals: Float64Array[];
  /** By key: counts by chunk, of each feature. */
  readonly counts: Map<number, Float64Array>[];
  /** Features of the invocations of each chunk. */
  readonly ofChunk: Map<number, Set<number>>[];
  readonly #numbers = new Map<string, number>();
  readonly #chunks: number;

  constructor(keys: number, chunks: number) {
    this.#chunks = chunks;
    this.totals = Array.from({ length: keys }, () => new Float64Array(chunks));
    this.counts = Array.from({ length: keys }, () => new Map());
    this.ofChunk = Array.from({ length: chunks }, () => new Map());
  }

  number(kind: Feature["kind"], what: string): number {
    const text = `${kind} ${what}`;
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.features.push({ kind, what }) - 1;
      this.#numbers.set(text, number);
    }
    return number;
  }

  add(invocation: number, key: number, chunk: number, own: Set<number>): void {
    this.totals[key]![chunk]!++;
    const counts = this.counts[key]!;
    for (const feature of own) {
      let byChunk = counts.get(feature);
      if (byChunk === undefined) {
        byChunk = new Float64Array(this.#chunks);
        counts.set(feature, byChunk);
      }
      byChunk[chunk]!++;
    }
    this.ofChunk[chunk]!.set(invocation, own);
  }
}

/** A change of a key, with what is needed to find the invocations that show it. */
interface KeyChange extends BehaviourChange {
  key: number;
  number: number;
}

/**
 * Finds the services that behave differently by themselves in a period. `slow`: invocations that take long, which
 * explains what those do that wait for them.
 */
export function findBehaviour(
  counts: FeatureCounts,
  telemetry: Telemetry,
  invocations: Invocations,
  period: Period,
  slow: ReadonlySet<number>,
): ServiceBehaviour[] {
  const changes = findChanges(counts, invocations, period);
  const shown = period.incident.flatMap((chunk) => [...counts.ofChunk[chunk]!]);
  return blame(changes, shown, slow, invocations, telemetry);
}

export function countFeatures(telemetry: Telemetry, invocations: Invocations): FeatureCounts {
  const { spans, timeline } = telemetry;
  const { count, keyOf, keys, chunks, ofSpan, first, parents, isUnanswered } = invocations;
  const counts = new FeatureCounts(keys.length, timeline.total);
  const own = Array.from({ length: count }, () => new Set<number>());
  for (let row = 0; row < spans.rows; row++) {
    const invocation = ofSpan[row]!;
    const name = spans.names.values[spans.names.codes[row]!]!;
    if (first[invocation] !== row) own[invocation]!.add(counts.number("span", name));
    const failed = spans.statuses.values[spans.statuses.codes[row]!]!.toLowerCase() === "error";
    if (failed || isErrorName(name)) own[invocation]!.add(counts.number("error span", name));
  }
  for (let i = 0; i < count; i++) {
    const { service, operation } = keys[keyOf[i]!]!;
    if (parents[i] !== -1) own[parents[i]!]!.add(counts.number("call", `${service} ${operation}`));
    const { values, codes } = spans.names;
    if (isUnanswered[i] === 1) own[i]!.add(counts.number("no answer", values[codes[first[i]!]!]!));
  }
  addLogFeatures(telemetry, invocations, counts, own);
  const empty = own.map((each) => each.size === 1 && each.has(counts.number("logs", beginToEnd)));
  const isLost = findLoss(empty, invocations, timeline.chunks);
  for (let i = 0; i < count; i++)
    if (chunks[i] !== -1 && !(empty[i]! && isLost(keyOf[i]!))) counts.add(i, keyOf[i]!, chunks[i]!, own[i]!);
  return counts;
}

const beginToEnd = "begin > end";
const lossServicesMin = 3;

/**
 * Tells for which keys an invocation of which nothing is known, neither logs nor spans within, has lost them: where many
 * services at once have such invocations more often than before, a collector has lost telemetry, and no service is to
 * blame.
 */
function findLoss(
  empty: readonly boolean[],
  { count, keyOf, keys, chunks }: Invocations,
  incident: number,
): (key: number) => boolean {
  const tallies = keys.map(() => ({ before: 0, emptyBefore: 0, during: 0, emptyDuring: 0 }));
  for (let i = 0; i < count; i++) {
    const tally = tallies[keyOf[i]!]!;
    if (chunks[i] === incident) {
      tally.during++;
      if (empty[i]) tally.emptyDuring++;
    } else if (chunks[i] !== -1) {
      tally.before++;
      if (empty[i]) tally.emptyBefore++;
    }
  }
  const usualOf = (key: number) => tallies[key]!.emptyBefore / Math.max(1, tallies[key]!.before);
  const services = new Map<string, { during: number; more: number }>();
  for (const [key, { before, during, emptyDuring }] of tallies.entries()) {
    if (before < baselineMin) continue;
    const own = services.get(keys[key]!.service) ?? { during: 0, more: 0 };
    own.during += during;
    own.more += emptyDuring - usualOf(key) * during;
    services.set(keys[key]!.service, own);
  }
  const busy = [...services.values()].filter(({ during }) => during >= baselineMin);
  const lossy = busy.filter(({ during, more }) => more / during >= differenceMin);
  const isLossy = lossy.length >= lossServicesMin && lossy.length >= busy.length / 2;
  return (key) => isLossy && usualOf(key) < 0.5;
}

/** Adds the transitions between logs of an invocation, from its begin to its end, and its logs of errors. */
function addLogFeatures(
  { spans, logs }: Telemetry,
  { ofSpan, count, isUnanswered }: Invocations,
  counts: FeatureCounts,
  own: readonly Set<number>[],
): void {
  const rows = orderLogs(logs, (row) => {
    const span = spans.table.find(logs.traces, logs.spans, row);
    return span === -1 ? -1 : ofSpan[span]!;
  });
  const { templates, levels } = logs;
  const last = new Map<number, string>();
  for (const { invocation, row } of rows) {
    const template = templates.values[templates.codes[row]!]!;
    own[invocation]!.add(counts.number("logs", `${last.get(invocation) ?? "begin"} > ${template}`));
    last.set(invocation, template);
    if (isErrorLevel(levels.values[levels.codes[row]!]!))
      own[invocation]!.add(counts.number("error log", template));
  }
  for (let i = 0; i < count; i++)
    if (isUnanswered[i] === 0) own[i]!.add(counts.number("logs", `${last.get(i) ?? "begin"} > end`));
}

/** The logs of invocations by invocation and time, each span's equal lines of one moment once. */
function orderLogs(
  { rows, timeNs, spans, templates }: LogColumns,
  invocationOf: (row: number) => number,
): { invocation: number; row: number }[] {
  const found: { invocation: number; row: number }[] = [];
  for (let row = 0; row < rows; row++) {
    const invocation = invocationOf(row);
    if (invocation !== -1) found.push({ invocation, row });
  }
  found.sort((a, b) => a.invocation - b.invocation || timeNs[a.row]! - timeNs[b.row]! || a.row - b.row);
  return found.filter(({ row }, i) => {
    const before = found[i - 1]?.row;
    return (
      before === undefined ||
      timeNs[before] !== timeNs[row] ||
      templates.codes[before] !== templates.codes[row] ||
      spans.low[before] !== spans.low[row]
    );
  });
}

function findChanges(
  counts: FeatureCounts,
  { keys }: Invocations,
  { incident, baseline, isFocused = false }: Period,
): KeyChange[] {
  const found: KeyChange[] = [];
  for (const [key, { caller, service, operation }] of keys.entries()) {
    const totals = counts.totals[key]!;
    const trials = sumOf(totals, incident);
    const before = sumOf(totals, baseline);
    if (trials < (isFocused ? 1 : incidentMin)) continue;
    for (const [number, byChunk] of counts.counts[key]!) {
      const feature = counts.features[number]!;
      if (before < baselineMin && !isError(feature)) continue;
      const hits = sumOf(byChunk, incident);
      const share = hits / trials;
      const usual = before === 0 ? 0 : usualShare(byChunk, totals, baseline, share, isError(feature));
      // Few calls fail, as far as one knows of a service before it was called.
      const smooth = isError(feature)
        ? (usual * before + errorsAssumed * callsAssumed) / (before + callsAssumed)
        : (usual * before + 0.5) / (before + 1);
      const surprise = surpriseOf(hits, trials, smooth) * (isError(feature) ? errorWeight : 1);
      if (
        Math.abs(surprise) < (isFocused ? focusedSurpriseMin : surpriseMin) ||
        Math.abs(share - usual) < differenceMin
      )
        continue;
      if (isError(feature) && surprise < 0) continue;
      if (caller === "" && !isError(feature) && Math.abs(share - usual) < mixMin) continue;
      found.push({ key, number, service, caller, operation, feature, surprise, share, usual });
    }
  }
  return found;
}

function sumOf(byChunk: Float64Array, chunks: readonly number[]): number {
  let sum = 0;
  for (const chunk of chunks) sum += byChunk[chunk]!;
  return sum;
}

/** The share that is usual: of what the chunks show, the bound that is nearest to the incident's share. */
function usualShare(
  byChunk: Float64Array,
  totals: Float64Array,
  baseline: readonly number[],
  share: number,
  isLowest: boolean,
): number {
  const shares: number[] = [];
  for (const chunk of baseline) if (totals[chunk]! >= chunkMin) shares.push(byChunk[chunk]! / totals[chunk]!);
  if (shares.length === 0) return sumOf(byChunk, baseline) / sumOf(totals, baseline);
  // Errors of an earlier incident are in some chunks, not in most.
  if (isLowest) return quantileOf(sorted(shares), 0.25);
  const median = medianOf(shares);
  const spread = 2 * deviationByMad(shares, median);
  return Math.min(1, Math.max(0, Math.min(median + spread, Math.max(median - spread, share))));
}

/** A rare feature among many calls is more often another mix of requests than a fault. */
function weigh({ caller, feature, surprise, share, usual }: BehaviourChange): number {
  const doubt = caller === "" && !isError(feature) ? mixWeight : 1;
  return doubt * Math.abs(surprise) * Math.sqrt(Math.abs(share - usual));
}

/** Blames services for the changes that no change further down the calls explains. */
function blame(
  changes: readonly KeyChange[],
  invocations: readonly [invocation: number, features: Set<number>][],
  slow: ReadonlySet<number>,
  { parents, keyOf, first }: Invocations,
  { spans }: Telemetry,
): ServiceBehaviour[] {
  const ofKey = Map.groupBy(changes, ({ key }) => key);
  const shown = new Map<number, KeyChange[]>();
  for (const [invocation, own] of invocations) {
    const its = (ofKey.get(keyOf[invocation]!) ?? []).filter(
      ({ number, surprise }) => own.has(number) === surprise > 0,
    );
    if (its.length > 0) shown.set(invocation, its);
  }
  const explained = new Set<number>();
  for (const invocation of [...shown.keys(), ...slow]) {
    for (let at = parents[invocation]!; at !== -1 && !explained.has(at); at = parents[at]!) explained.add(at);
  }
  const traceOf = (invocation: number) => hashKey(spans.traces, first[invocation]!);
  const traces = new Set<string>();
  const ofService = new Map<string, { all: number; alone: number; traces: Set<string> }>();
  for (const [invocation, its] of shown) {
    const trace = traceOf(invocation);
    traces.add(trace);
    const { service } = its[0]!;
    const own = ofService.get(service) ?? { all: 0, alone: 0, traces: new Set() };
    ofService.set(service, own);
    own.all++;
    if (explained.has(invocation)) continue;
    own.alone++;
    own.traces.add(trace);
  }
  return [...ofService]
    .map(([service, { all, alone, traces: blamed }]) => {
      const own = changes.filter((each) => each.service === service);
      own.sort((a, b) => weigh(b) - weigh(a));
      const most = Math.max(...own.map(weigh));
      const score = most * (alone / all) * Math.sqrt(blamed.size / traces.size);
      return { service, score, changes: own.map(({ key: _, number: __, ...change }) => change) };
    })
    .sort((a, b) => b.score - a.score);
}
