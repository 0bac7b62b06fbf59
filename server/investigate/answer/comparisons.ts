/** What tells the bad spans or logs of a suspect from its good ones, and which messages are new, rarer or more frequent. */

import type { QueryLimits } from "../../../engine/index.ts";
import { type ComparisonQuery, queryComparison } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { Suspect } from "../analysis/suspects.ts";
import type { Incident } from "../analysis/telemetry.ts";
import { quote } from "../query-text.ts";
import { type Evidence, limitOfSlow } from "./evidence.ts";
import { nameOperation, nameService, nameShare } from "./wording.ts";

/** Evidence about values of attributes, with the place in the system that such a value names. */
export interface ComparedEvidence extends Evidence {
  pod?: string;
  node?: string;
}

/** The share of the bad that a value has at least, and how many times the odds of the good its odds are. */
const shareMin = 0.5;
const oddsTimesMin = 3;
const valuesMax = 2;
const patternsMax = 2;
/** A pattern is looked at where it is so many times as frequent as before, or as rare. */
const patternTimesMin = 3;
const patternRowsMin = 5;
const podFields: ReadonlySet<string> = new Set(["k8s.pod.name", "pod"]);
const nodeFields: ReadonlySet<string> = new Set(["k8s.node.name", "host.name"]);
/** What the bad are chosen by, or what stands for it. */
const choosingFields: ReadonlySet<string> = new Set([
  ...["status_code", "status_message", "duration_ms", "name", "log_level", "template", "message"],
  ...["service.name", "trace_id", "span_id", "parent_span_id"],
]);

/** The bad and the good of a suspect: searches for rows of one signal. */
interface Sides {
  /** What the rows are, in the plural. */
  what: string;
  signal: "logs" | "traces";
  query: string;
  bad: string;
  good: string;
}

/** Throws what the store throws. */
export async function compareSuspect(
  store: SearchableStore,
  suspect: Suspect,
  incident: Incident,
  limits: QueryLimits,
): Promise<ComparedEvidence[]> {
  const sides = sidesOf(suspect);
  const [values, patterns] = await Promise.all([
    sides === undefined ? [] : compareValues(store, sides, incident, limits),
    comparePatterns(store, suspect, incident, limits),
  ]);
  return [...values, ...patterns];
}

/** What is bad about a suspect; undefined where that cannot be told by a search. */
function sidesOf({ service, behaviour, latency, kind }: Suspect): Sides | undefined {
  const own = `service.name=${quote(service)}`;
  const slow = latency?.changes.find((change) => change.kind === "self" && change.service === service);
  if (kind === "latency" && slow !== undefined) {
    const limitMs = limitOfSlow(slow);
    return {
      what: `the slow spans ${nameOperation(slow.operation)}`,
      ...{ signal: "traces", query: `traces{${own}, name=${quote(slow.operation)}}` },
      ...{ bad: `traces{duration_ms>${limitMs}}`, good: `traces{duration_ms<=${limitMs}}` },
    };
  }
  for (const { feature } of behaviour?.changes ?? []) {
    if (feature.kind === "error span")
      return {
        what: `the failed spans ${nameOperation(feature.what)}`,
        ...{ signal: "traces", query: `traces{${own}, name=${quote(feature.what)}}` },
        ...{ bad: 'traces{status_code="error"}', good: 'traces{status_code!="error"}' },
      };
    if (feature.kind === "error log")
      return {
        what: `the errors ${feature.what}`,
        ...{ signal: "logs", query: `logs{${own}}` },
        ...{ bad: `logs{template=${quote(feature.what)}}`, good: 'logs{log_level!~"^(?:error|fatal)"}' },
      };
  }
  return undefined;
}

async function compareValues(
  store: SearchableStore,
  { what, signal, query, bad, good }: Sides,
  { startMs, endMs }: Incident,
  limits: QueryLimits,
): Promise<ComparedEvidence[]> {
  const range = { startMs, endMs: endMs - 1 };
  const asked: ComparisonQuery = {
    ...{ signal, query, limit: 20 },
    ...{ selection: { ...range, query: bad }, baseline: { ...range, query: good } },
  };
  const { selection, baseline, fields } = await queryComparison(store, asked, limits);
  if (selection === 0 || baseline === 0) return [];
  return fields
    .filter(({ field }) => !choosingFields.has(field))
    .flatMap(({ field, values }): ComparedEvidence[] => {
      const [first] = values.filter(({ value, score }) => value !== null && score > 0);
      if (first === undefined) return [];
      const [share, usual] = [first.selection / selection, first.baseline / baseline];
      if (share < shareMin || oddsOf(share) < oddsTimesMin * oddsOf(usual)) return [];
      const value = first.value!;
      const filter = `${/^[\w.]+$/.test(field) ? field : quote(field)}=${quote(value)}`;
      return [
        {
          sentence: `${nameShare(share)} of ${what} have ${field} “${value.slice(0, 100).toWellFormed()}”, where ${nameShare(usual)} of the others do`,
          query: joinFilters(query, bad, filter),
          ...(podFields.has(field) ? { pod: value } : {}),
          ...(nodeFields.has(field) ? { node: value } : {}),
        },
      ];
    })
    .slice(0, valuesMax);
}

/** Neither 0 nor infinite. */
const oddsOf = (share: number) => (share + 0.01) / (1.01 - share);

/** One selector with the filters of two and one more. */
function joinFilters(query: string, bad: string, filter: string): string {
  const filtersOf = (selector: string) => /^\w+\{(.*)\}$/s.exec(selector)![1]!;
  const signal = query.slice(0, query.indexOf("{"));
  return `${signal}{${[filtersOf(query), filtersOf(bad), filter].join(", ")}}`;
}

async function comparePatterns(
  store: SearchableStore,
  { service, behaviour, lines }: Suspect,
  { startMs, endMs, baselineMs }: Incident,
  limits: QueryLimits,
): Promise<ComparedEvidence[]> {
  const query = `logs{service.name=${quote(service)}}`;
  const asked: ComparisonQuery = {
    ...{ signal: "logs", query, limit: 20 },
    selection: { startMs, endMs: endMs - 1, query: "" },
    baseline: { startMs: baselineMs, endMs: startMs - 1, query: "" },
  };
  const { selection, baseline, patterns } = await queryComparison(store, asked, limits);
  if (selection === 0 || baseline === 0) return [];
  const told = JSON.stringify([behaviour?.changes.map(({ feature }) => feature.what), lines?.changes]);
  return patterns
    .filter(({ template }) => !told.includes(template))
    .flatMap(({ template, selection: now, baseline: before }): ComparedEvidence[] => {
      const times = now / selection / Math.max(before / baseline, 0.5 / baseline);
      const isRare = before >= patternRowsMin && now === 0;
      if (!isRare && (now < patternRowsMin || times < patternTimesMin)) return [];
      const how =
        now === 0
          ? "no longer logs"
          : before === 0
            ? "logs for the first time"
            : `logs ${Math.round(times)} times as often`;
      const counts = `${now} in the window, ${before} in the time before`;
      return [
        {
          sentence: `${nameService(service)} ${how} ${template} (${counts})`,
          query: `logs{service.name=${quote(service)}, template=${quote(template)}}`,
          ...(before === 0 ? { isNew: true } : {}),
        },
      ];
    })
    .slice(0, patternsMax);
}
