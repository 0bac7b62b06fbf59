import type { Filter, FoundRow, QueryLimits, RowSignal, Store } from "../../engine/index.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { type TimeRange, toRangeNs } from "../time/range.ts";
import { type Span, toSpan } from "./span.ts";

/** The part of a store that reading a trace needs. */
export type TraceStore = Pick<Store, "search">;

/** The id of a trace, and a range of time that holds its spans and logs. */
export interface TraceQuery extends TimeRange {
  /** 32 hexadecimal digits, or 16 as older tracers write them. */
  traceId: string;
}

/** A span as a node in the tree of its trace. */
export interface TraceSpan {
  span: Span;
  /** In order of their start. */
  children: TraceSpan[];
  /** The logs that have the id of this span, in order of time. */
  logs: FoundRow[];
  /** True for a root that has a parent id. Its parent was not found, or the span would be its own ancestor. */
  isOrphan: boolean;
}

/** A trace: its spans as a forest, and the logs that have its id. */
export interface Trace {
  traceId: string;
  /** Start of the first span, or time of the first log where there is no span; nanoseconds since the epoch. */
  startNs: bigint;
  /** Milliseconds from `startNs` to the end of the span that ends last. A span without an end ends at its start. */
  durationMs: number;
  /** The number of spans. */
  spans: number;
  /** Distinct values of `service.name`, in the order in which their first spans start. */
  services: string[];
  /** Spans without a parent, in order of their start. */
  roots: TraceSpan[];
  /** Logs of the trace that have the id of none of its spans, in order of time. */
  logs: FoundRow[];
  /** True where there are more spans or logs. Those returned are the newest. */
  isTruncated: boolean;
}

/** The most spans of a trace that are read. A person does not read more, and the tree is built on the query thread. */
const traceSpansMax = 10_000;
/** The most logs of a trace that are read. */
const traceLogsMax = 1_000;

/** Reads a trace and the logs that have its id; undefined where neither is found. Throws what the store throws. */
export async function queryTrace(
  store: TraceStore,
  { traceId, startMs, endMs }: TraceQuery,
  limits?: QueryLimits,
): Promise<Trace | undefined> {
  const startedAtMs = performance.now();
  const ids = listIdSpellings(traceId);
  const range = toRangeNs(startMs, endMs);
  const steps = [{ kind: "filter", filter: makeTraceFilter(ids) } as const];
  const search = (signal: RowSignal, limit: number) =>
    store.search({ signal, ...range, steps, limit }, deductElapsedTime(startedAtMs, limits));
  const [spans, logs] = await Promise.all([search("traces", traceSpansMax), search("logs", traceLogsMax)]);
  if (spans.rows.length === 0 && logs.rows.length === 0) return undefined;
  // The store returns rows of equal time in the order of arrival. The stable sort keeps this order.
  const trace = buildTrace(traceId.toLowerCase(), sortOldestFirst(spans.rows), sortOldestFirst(logs.rows));
  return { ...trace, isTruncated: spans.more || logs.more };
}

/**
 * The ways in which a trace id may be stored: spans have it in lower case, logs as it was received. An id of 16 digits
 * may have been padded to 32 with zeros.
 */
function listIdSpellings(traceId: string): string[] {
  const lower = traceId.toLowerCase();
  const padded = lower.length === 16 ? [lower.padStart(32, "0")] : [];
  const unpadded = /^0{16}(.{16})$/.exec(lower)?.slice(1) ?? [];
  return [...new Set([lower, traceId, ...padded, ...unpadded])];
}

function makeTraceFilter(ids: readonly string[]): Filter {
  const field = { kind: "attribute", key: "trace_id" } as const;
  const of = ids.map((value): Filter => ({ kind: "equals", field, value }));
  return of.length === 1 ? of[0]! : { kind: "or", of };
}

function sortOldestFirst(rows: readonly FoundRow[]): FoundRow[] {
  return [...rows].sort((a, b) => (a.timeNs < b.timeNs ? -1 : a.timeNs > b.timeNs ? 1 : 0));
}

/**
 * Builds the tree of a trace from its rows, which are in order of time. A span that was received several times is one
 * span.
 */
function buildTrace(
  traceId: string,
  rows: readonly FoundRow[],
  logs: readonly FoundRow[],
): Omit<Trace, "isTruncated"> {
  const nodes = collectDistinctSpans(rows);
  const byId = new Map<string, TraceSpan>();
  for (const node of nodes) if (!byId.has(node.span.spanId)) byId.set(node.span.spanId, node);
  const roots = linkToParents(nodes, byId);
  const otherLogs = logs.filter((log) => {
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
    logs: otherLogs,
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

/** Adds every span to the children of its parent. Returns the spans without a parent, in the order of `nodes`. */
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

/**
 * Cuts each cycle of parents at its first span, which then has no parent and is a root. Otherwise no root would lead to
 * the spans of the cycle.
 */
function cutCycles(nodes: readonly TraceSpan[], parents: Map<TraceSpan, TraceSpan>): void {
  const indexes = new Map(nodes.map((node, index) => [node, index]));
  // For each span visited, the index of the span from which the walk began.
  const walks = new Map<TraceSpan, number>();
  for (const [walk, node] of nodes.entries()) {
    let at: TraceSpan | undefined = node;
    while (at !== undefined && !walks.has(at)) {
      walks.set(at, walk);
      at = parents.get(at);
    }
    // The walk met a span that it has visited itself, so the span is in a cycle.
    if (at !== undefined && walks.get(at) === walk)
      parents.delete(nodes[firstIndexOfCycle(at, indexes, parents)]!);
  }
}

/** The least index in `indexes` of all spans in the cycle that `member` is in. */
function firstIndexOfCycle(
  member: TraceSpan,
  indexes: ReadonlyMap<TraceSpan, number>,
  parents: ReadonlyMap<TraceSpan, TraceSpan>,
): number {
  let first = indexes.get(member)!;
  for (let at = parents.get(member)!; at !== member; at = parents.get(at)!) {
    first = Math.min(first, indexes.get(at)!);
  }
  return first;
}
