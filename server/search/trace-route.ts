/** GET /api/v1/traces/{traceId}: a whole trace as a tree. */

import { queryTrace, type Trace, type TraceQuery, type TraceSpan } from "../../query/index.ts";
import { jsonHeaders } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import { timeMsMax } from "../model/limits.ts";
import { shown } from "../text/quote.ts";
import { suggestion } from "../text/suggestion.ts";
import { entryText } from "./log-entry.ts";
import type { AddressedSearch } from "./searches.ts";
import { spanText } from "./span-entry.ts";

const known = ["startTime", "endTime"];

export const traceSearch: AddressedSearch<TraceQuery> = {
  path: "/api/v1/traces/{traceId}",
  readAddress: readTraceQuery,
  answer: async (store, query, limits) => {
    const trace = await queryTrace(store, query, limits);
    if (trace === undefined)
      throw new Refusal(404, `there is no trace ${query.traceId} in this range of time`);
    return { status: 200, headers: jsonHeaders, body: encoded(tracePieces(trace)) };
  },
};

function readTraceQuery(params: Readonly<Record<string, string>>, query: URLSearchParams): TraceQuery {
  const traceId = params.traceId!;
  if (!/^(?:[0-9a-f]{16}|[0-9a-f]{32})$/i.test(traceId)) {
    throw new Refusal(400, `traceId must be 32 hexadecimal digits (or 16), got ${shown(traceId)}`);
  }
  for (const name of query.keys()) {
    if (known.includes(name)) continue;
    throw new Refusal(400, `unknown query parameter ${JSON.stringify(name)}${suggestion(name, known)}`);
  }
  const startMs = timeOf(query, "startTime", 0);
  const endMs = timeOf(query, "endTime", timeMsMax);
  if (startMs <= endMs) return { traceId, startMs, endMs };
  throw new Refusal(400, `startTime must not be after endTime, got ${startMs} and ${endMs}`);
}

function timeOf(query: URLSearchParams, name: string, absent: number): number {
  const text = query.get(name);
  if (text === null) return absent;
  const ms = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (ms <= timeMsMax) return ms;
  throw new Refusal(400, `${name} must be an integer, Unix time in milliseconds, got ${shown(text)}`);
}

/** Pieces are joined up to about this many characters. */
const pieceLength = 64 * 1024;

function* encoded(pieces: Iterable<string>): Generator<Uint8Array> {
  let joined = "";
  for (const piece of pieces) {
    joined += piece;
    if (joined.length < pieceLength) continue;
    yield Buffer.from(joined);
    joined = "";
  }
  yield Buffer.from(`${joined}\n`);
}

function* tracePieces(trace: Trace): Generator<string> {
  const { traceId, startNs, durationMs, spans, services, isTruncated } = trace;
  const startTime = Number(startNs / 1_000_000n);
  const truncated = isTruncated ? { truncated: true } : {};
  const head = { traceId, startTime, durationMs, spans, services, ...truncated };
  yield `${JSON.stringify(head).slice(0, -1)},"roots":[`;
  yield* spanPieces(trace.roots);
  yield `],"logs":[${trace.logs.map(entryText).join(",")}]}`;
}

/** Without recursion, for spans may be nested as deep as there are any. */
function* spanPieces(roots: readonly TraceSpan[]): Generator<string> {
  const lists = [{ spans: roots, next: 0 }];
  for (let list = lists.at(-1); list !== undefined; list = lists.at(-1)) {
    const node = list.spans[list.next++];
    if (node === undefined) {
      lists.pop();
      if (lists.length > 0) yield "]}";
      continue;
    }
    yield list.next > 1 ? "," : "";
    yield openedSpan(node);
    lists.push({ spans: node.children, next: 0 });
  }
}

/** A span up to the list of its children. */
function openedSpan({ span, logs, isOrphan }: TraceSpan): string {
  const orphan = isOrphan ? ',"orphan":true' : "";
  return `${spanText(span).slice(0, -1)}${orphan},"logs":[${logs.map(entryText).join(",")}],"children":[`;
}
