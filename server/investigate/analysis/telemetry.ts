/** What an investigation reads of a window and of the time before it. */

import type { ColumnRead, QueryLimits } from "../../../engine/index.ts";
import {
  type HashColumn,
  joinSpans,
  readFoundTraces,
  readSpans,
  type SpanColumns,
  type SpanGraph,
  type TextColumn,
} from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";

/** The window that is investigated, and what is usual: the time before it. Whole milliseconds since the epoch. */
export interface Incident {
  startMs: number;
  /** Exclusive. */
  endMs: number;
  /** Start of the time before. */
  baselineMs: number;
}

/** Log rows as columns, in no defined order. */
export interface LogColumns {
  rows: number;
  /** Nanoseconds since the start of the baseline. */
  timeNs: Float64Array;
  traces: HashColumn;
  spans: HashColumn;
  services: TextColumn;
  templates: TextColumn;
  levels: TextColumn;
}

/** Times are in chunks of a minute from the start of the baseline; the incident is a chunk of its own. */
export interface Timeline {
  /** Chunks of the baseline. The incident has this number. */
  chunks: number;
  /** All chunks: those of the baseline, the incident, and groups of usual traces as `focusOn` makes them. */
  total: number;
  /** The chunk of a time in nanoseconds since the start of the baseline; -1 after the incident. */
  chunkOf(ns: number): number;
}

/** Chunks of a timeline that are compared: those of an incident with those that show what is usual. */
export interface Period {
  incident: readonly number[];
  baseline: readonly number[];
  /** Whether the incident consists of chosen traces: then one call is enough to be compared. */
  isFocused?: boolean;
}

/** What was read, as plain data: it goes to the thread that analyses it. */
export interface TelemetryColumns {
  incident: Incident;
  spans: SpanColumns;
  logs: LogColumns;
  /** Traces that the investigation is about; absent where it is about all of the window. */
  focus?: HashColumn;
}

export interface Telemetry {
  timeline: Timeline;
  spans: SpanGraph;
  logs: LogColumns;
}

/** Rows of one signal that one investigation reads. Each takes some 60 bytes. */
const rowsMax = 2_000_000;
/** Groups of usual traces that show what is found where nothing is wrong. */
export const usualGroupsMax = 10;
const nsPerMs = 1_000_000;
const chunkNs = 60_000 * nsPerMs;

const attribute = (key: string, as: ColumnRead["as"]): ColumnRead => {
  return { field: { kind: "attribute", key }, as };
};
const logReads: readonly ColumnRead[] = [
  attribute("trace_id", "hash"),
  attribute("span_id", "hash"),
  attribute("service.name", "text"),
  { field: { kind: "template" }, as: "text" },
  { field: { kind: "level" }, as: "text" },
];

function makeTimeline({ startMs, endMs, baselineMs }: Incident, groups: number): Timeline {
  const [startNs, endNs] = [(startMs - baselineMs) * nsPerMs, (endMs - baselineMs) * nsPerMs];
  const chunks = Math.ceil(startNs / chunkNs);
  return {
    chunks,
    total: chunks + 1 + groups,
    chunkOf: (ns) => (ns >= endNs ? -1 : ns >= startNs ? chunks : Math.floor(ns / chunkNs)),
  };
}

/** Chooses the traces that an investigation is about, by a search. */
export interface TraceChoice {
  signal: "logs" | "traces";
  query: string;
}

/** Reads what an investigation needs. Throws what the store throws, and a QueryError for a mistake in the choice. */
export async function readTelemetry(
  store: SearchableStore,
  incident: Incident,
  choice: TraceChoice | undefined,
  limits?: QueryLimits,
): Promise<TelemetryColumns> {
  const range = {
    fromNs: BigInt(incident.baselineMs) * BigInt(nsPerMs),
    toNs: BigInt(incident.endMs) * BigInt(nsPerMs),
  };
  const { startMs, endMs } = incident;
  const chosen = choice === undefined ? undefined : { ...choice, startMs, endMs: endMs - 1, rowsMax };
  const [focus, spans, found] = await Promise.all([
    chosen === undefined ? undefined : readFoundTraces(store, chosen, limits),
    readSpans(store, { ...range, rowsMax }, limits),
    store.readColumns({ signal: "logs", ...range, steps: [], columns: logReads, rowsMax }, limits),
  ]);
  const [traces, ids, services, templates, levels] = found.columns as [
    HashColumn,
    HashColumn,
    TextColumn,
    TextColumn,
    TextColumn,
  ];
  return {
    ...{ incident, spans },
    ...(focus === undefined ? {} : { focus }),
    logs: { rows: found.rows, timeNs: found.timeNs, spans: ids, traces, services, templates, levels },
  };
}

/** Joins what was read. */
export async function joinTelemetry({ incident, spans, logs, focus }: TelemetryColumns): Promise<Telemetry> {
  const timeline = makeTimeline(incident, focus === undefined ? 0 : usualGroupsMax);
  return { timeline, spans: await joinSpans(spans), logs };
}
