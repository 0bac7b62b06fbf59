/** Spans as far as logs tell of them, for systems whose logs have the ids of traces and that send no spans. */

import type { SpanColumns } from "../../../query/index.ts";
import { hasHash, hashKey } from "./hashes.ts";
import type { LogColumns } from "./telemetry.ts";

/** The logs of one span. */
interface LoggedSpan {
  /** The row of its first log. */
  row: number;
  startNs: number;
  endNs: number;
}

/**
 * One span for all logs with the same ids: it begins with the first of them, is named by the template of that, and its
 * parent is the span of the trace that logs last before it begins and again after it ends. Durations are not known.
 */
export function makeSpansFromLogs(logs: LogColumns): SpanColumns {
  const spans: LoggedSpan[] = [];
  const parents: number[] = [];
  for (const own of groupByTrace(logs).values()) {
    const offset = spans.length;
    const sorted = [...own.values()].sort((a, b) => a.startNs - b.startNs || b.endNs - a.endNs);
    spans.push(...sorted);
    for (const parent of findEnclosing(sorted)) parents.push(parent === -1 ? -1 : offset + parent);
  }
  const rows = spans.map(({ row }) => row);
  const hashes = ({ low, high }: LogColumns["traces"], of: readonly number[]) => ({
    as: "hash" as const,
    low: Uint32Array.from(of, (row) => (row === -1 ? 0 : low[row]!)),
    high: Uint32Array.from(of, (row) => (row === -1 ? 0 : high[row]!)),
  });
  const texts = ({ values, codes }: LogColumns["services"]) => {
    return { as: "text" as const, values, codes: Uint32Array.from(rows, (row) => codes[row]!) };
  };
  return {
    rows: rows.length,
    startNs: Float64Array.from(spans, ({ startNs }) => startNs),
    durationsMs: new Float64Array(rows.length).fill(Number.NaN),
    ...{ services: texts(logs.services), names: texts(logs.templates) },
    statuses: { as: "text", values: [""], codes: new Uint32Array(rows.length) },
    ...{ traces: hashes(logs.traces, rows), ids: hashes(logs.spans, rows) },
    parentIds: hashes(
      logs.spans,
      parents.map((parent) => (parent === -1 ? -1 : spans[parent]!.row)),
    ),
  };
}

/** By the hash of a trace: by the hash of a span, its logs. */
function groupByTrace({ rows, timeNs, traces, spans }: LogColumns): Map<string, Map<string, LoggedSpan>> {
  const found = new Map<string, Map<string, LoggedSpan>>();
  for (let row = 0; row < rows; row++) {
    if (!hasHash(traces, row) || !hasHash(spans, row)) continue;
    const trace = hashKey(traces, row);
    const own = found.get(trace) ?? new Map<string, LoggedSpan>();
    found.set(trace, own);
    const id = hashKey(spans, row);
    const atNs = timeNs[row]!;
    const span = own.get(id);
    if (span === undefined) own.set(id, { row, startNs: atNs, endNs: atNs });
    else {
      if (atNs < span.startNs) Object.assign(span, { row, startNs: atNs });
      span.endNs = Math.max(span.endNs, atNs);
    }
  }
  return found;
}

/** For each span, in order of their begins, the place of the one that encloses it most closely; -1 for none. */
function findEnclosing(sorted: readonly LoggedSpan[]): number[] {
  const open: number[] = [];
  return sorted.map(({ startNs, endNs }, place) => {
    while (open.length > 0 && sorted[open.at(-1)!]!.endNs < startNs) open.pop();
    const parent = open.findLast((each) => sorted[each]!.endNs >= endNs) ?? -1;
    open.push(place);
    return parent;
  });
}
