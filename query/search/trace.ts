import type { Filter, FoundRow, QueryLimits, Store } from "../../engine/index.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { toRangeNs } from "../time/range.ts";
import { type Span, toSpan } from "./span.ts";

/** The part of a store that a trace needs. */
export type TraceStore = Pick<Store, "search">;

export interface TraceQuery {
  /** 32 hexadecimal digits, or 16 as older tracers write them. */
  traceId: string;
  /** Whole milliseconds since the epoch, both inclusive. */
  startMs: number;
  endMs: number;
}

/** A span among the others of its trace. */
export interface TraceSpan {
  span: Span;
  /** In order of their start. */
  children: TraceSpan[];
  /** In order of time. */
  logs: FoundRow[];
  /** A root that names a parent, which is not among the spans, or comes after itself. */
  isOrphan: boolean;
}

export interface Trace {
  traceId: string;
  /** Of the first span, or of the first log where there are logs alone: nanoseconds since the epoch. */
  startNs: bigint;
  /** From there to the last end of a span. */
  durationMs: number;
  spans: number;
  /** What is in `service.name`, in the order in which the spans began. */
  services: string[];
  /** In order of their start. */
  roots: TraceSpan[];
  /** Logs of the trace that belong to none of its spans, in order of time. */
  logs: FoundRow[];
  /** There are more spans or logs than these, which are the newest. */
  isTruncated: boolean;
}

/** Spans and logs of one trace that are looked at: more than a person reads, and a tree of them is built on one thread. */
const traceSpansMax = 10_000;
const traceLogsMax = 1_000;

/** All of a trace, with the logs that name it; undefined where there is nothing of it. Throws what the store throws. */
export async function queryTrace(
  store: TraceStore,
  { traceId, startMs, endMs }: TraceQuery,
  limits?: QueryLimits,
): Promise<Trace | undefined> {
  const begunMs = performance.now();
  const ids = listIdSpellings(traceId);
  const range = toRangeNs(startMs, endMs);
  const steps = [{ kind: "filter", filter: makeTraceFilter(ids) } as const];
  const [spans, logs] = await Promise.all([
    store.search(
      { signal: "traces", ...range, steps, limit: traceSpansMax },
      deductElapsedTime(begunMs, limits),
    ),
    store.search(
      { signal: "logs", ...range, steps, limit: traceLogsMax },
      deductElapsedTime(begunMs, limits),
    ),
  ]);
  if (spans.rows.length === 0 && logs.rows.length === 0) return undefined;
  // Newest first, ties by arrival: a stable sort by time alone keeps the ties.
  const trace = buildTrace(traceId.toLowerCase(), sortOldestFirst(spans.rows), sortOldestFirst(logs.rows));
  return { ...trace, isTruncated: spans.more || logs.more };
}

/** Ids are stored in lower case, those of logs as they were sent; 16 digits may have been filled up to 32. */
function listIdSpellings(traceId: string): string[] {
  const lower = traceId.toLowerCase();
  const padded = lower.length === 16 ? [lower.padStart(32, "0")] : [];
  const bare = /^0{16}(.{16})$/.exec(lower)?.slice(1) ?? [];
  return [...new Set([lower, traceId, ...padded, ...bare])];
}

function makeTraceFilter(ids: readonly string[]): Filter {
  const field = { kind: "attribute", key: "trace_id" } as const;
  const of = ids.map((value): Filter => ({ kind: "equals", field, value }));
  return of.length === 1 ? of[0]! : { kind: "or", of };
}

function sortOldestFirst(rows: readonly FoundRow[]): FoundRow[] {
  return [...rows].sort((a, b) => (a.timeNs < b.timeNs ? -1 : a.timeNs > b.timeNs ? 1 : 0));
}

/** The tree of a trace's rows, which are in order of time. A span that was sent twice is one. */
function buildTrace(
  traceId: string,
  rows: readonly FoundRow[],
  logs: readonly FoundRow[],
): Omit<Trace, "isTruncated"> {
  const nodes = collectDistinctSpans(rows);
  const byId = new Map<string, TraceSpan>();
  for (const node of nodes) if (!byId.has(node.span.spanId)) byId.set(node.span.spanId, node);
  const roots = linkToParents(nodes, byId);
  const apart = logs.filter((log) => {
    const node = byId.get((log.attributes.span_id ?? "").toLowerCase());
    node?.logs.push(log);
    return node === undefined;
  });
  const startNs = nodes[0]?.span.startNs ?? logs[0]?.timeNs ?? 0n;
  const lastNs = nodes.reduce((last, { span }) => laterOf(last, span.endNs ?? span.startNs), startNs);
  const services = nodes.map(({ span }) => span.attributes["service.name"] ?? "");
  return {
    traceId,
    startNs,
    durationMs: Number(lastNs - startNs) / 1e6,
    spans: nodes.length,
    services: [...new Set(services.filter((name) => name !== ""))],
    roots,
    logs: apart,
  };
}

function laterOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function collectDistinctSpans(rows: readonly FoundRow[]): TraceSpan[] {
  const spans = new Map<string, TraceSpan>();
  for (const row of rows) {
    const key = JSON.stringify([String(row.timeNs), row.attributes]);
    if (!spans.has(key)) spans.set(key, { span: toSpan(row), children: [], logs: [], isOrphan: false });
  }
  return [...spans.values()];
}

/** Hangs every span under its parent; returns those that have none, in their order. */
function linkToParents(nodes: readonly TraceSpan[], byId: ReadonlyMap<string, TraceSpan>): TraceSpan[] {
  const parents = new Map<TraceSpan, TraceSpan>();
  for (const node of nodes) {
    const parent = byId.get(node.span.parentSpanId);
    if (parent !== undefined && parent !== node) parents.set(node, parent);
  }
  cutCycles(nodes, parents);
  for (const node of nodes) {
    const parent = parents.get(node);
    if (parent === undefined) node.isOrphan = node.span.parentSpanId !== "";
    else parent.children.push(node);
  }
  return nodes.filter((node) => !parents.has(node));
}

/** Spans that are their own ancestors would hang below nothing: the first of each such ring loses its parent. */
function cutCycles(nodes: readonly TraceSpan[], parents: Map<TraceSpan, TraceSpan>): void {
  const places = new Map(nodes.map((node, place) => [node, place]));
  /** The walk that came by, by the place of the span that it began with. */
  const walks = new Map<TraceSpan, number>();
  for (const [walk, node] of nodes.entries()) {
    let at: TraceSpan | undefined = node;
    while (at !== undefined && !walks.has(at)) {
      walks.set(at, walk);
      at = parents.get(at);
    }
    // A walk that meets itself has come round.
    if (at !== undefined && walks.get(at) === walk)
      parents.delete(nodes[firstPlaceOfCycle(at, places, parents)]!);
  }
}

/** The least place of the spans between one and itself. */
function firstPlaceOfCycle(
  from: TraceSpan,
  places: ReadonlyMap<TraceSpan, number>,
  parents: ReadonlyMap<TraceSpan, TraceSpan>,
): number {
  let first = places.get(from)!;
  for (let at = parents.get(from)!; at !== from; at = parents.get(at)!) {
    first = Math.min(first, places.get(at)!);
  }
  return first;
}
