/** GET /api/v1/traces/{traceId}: a whole trace as a tree of spans, with its logs. */

import * as z from "zod";
import { queryTrace, type Trace, type TraceSpan } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import { jsonHeaders, Reply, type Route } from "../api/route.ts";
import { timeMsMax } from "../model/limits.ts";
import { timeMs } from "../model/schema.ts";
import { Refusal } from "../throttle/refusal.ts";
import { formatLogEntry } from "./log-entry.ts";
import { describeRangeProblem, logEntry } from "./search-body.ts";
import type { Searches } from "./searches.ts";
import { formatSpan } from "./span-entry.ts";

const traceId = z.string().regex(/^(?:[0-9a-f]{16}|[0-9a-f]{32})$/i, "must be 32 hexadecimal digits (or 16)");

export function traceRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "GET",
    path: "/api/v1/traces/{traceId}",
    summary: "Reads a whole trace as a tree, with its logs",
    params: { traceId },
    query: { startTime: timeMs.optional(), endTime: timeMs.optional() },
    response: z.looseObject({
      traceId: z.string(),
      roots: z.array(z.looseObject({})),
      logs: z.array(logEntry),
    }),
    errors: [404, ...searches.shared.errors],
    handle: (input) => {
      const { startTime = 0, endTime = timeMsMax } = input.query;
      if (startTime > endTime)
        throw new Refusal(400, `startTime ${describeRangeProblem({ startTime, endTime })}`);
      const { traceId } = input.params;
      return searches.run(input, async (store, limits) => {
        const trace = await queryTrace(store, { traceId, startMs: startTime, endMs: endTime }, limits);
        if (trace === undefined) throw new Refusal(404, `there is no trace ${traceId} in this range of time`);
        return new Reply({ status: 200, headers: jsonHeaders, body: encodePieces(formatTrace(trace)) });
      });
    },
  });
}

/** Characters of JSON that are collected before they are written. */
const pieceLength = 64 * 1024;

function* encodePieces(pieces: Iterable<string>): Generator<Uint8Array> {
  let joined = "";
  for (const piece of pieces) {
    joined += piece;
    if (joined.length < pieceLength) continue;
    yield Buffer.from(joined);
    joined = "";
  }
  yield Buffer.from(`${joined}\n`);
}

function* formatTrace(trace: Trace): Generator<string> {
  const { traceId, startNs, durationMs, spans, services, isTruncated } = trace;
  const startTime = Number(startNs / 1_000_000n);
  const truncated = isTruncated ? { truncated: true } : {};
  const head = { traceId, startTime, durationMs, spans, services, ...truncated };
  yield `${JSON.stringify(head).slice(0, -1)},"roots":[`;
  yield* formatSpans(trace.roots);
  yield `],"logs":[${trace.logs.map((row) => formatLogEntry(row)).join(",")}]}`;
}

/** Uses a stack of its own instead of recursion, because each span may be the child of the one before. */
function* formatSpans(roots: readonly TraceSpan[]): Generator<string> {
  const lists = [{ spans: roots, next: 0 }];
  for (let list = lists.at(-1); list !== undefined; list = lists.at(-1)) {
    const node = list.spans[list.next++];
    if (node === undefined) {
      lists.pop();
      if (lists.length > 0) yield "]}";
      continue;
    }
    yield list.next > 1 ? "," : "";
    yield formatSpanHead(node);
    lists.push({ spans: node.children, next: 0 });
  }
}

/** The JSON of a span up to the `[` of its children. */
function formatSpanHead({ span, logs, isOrphan }: TraceSpan): string {
  const orphan = isOrphan ? ',"orphan":true' : "";
  return `${formatSpan(span).slice(0, -1)}${orphan},"logs":[${logs.map((row) => formatLogEntry(row)).join(",")}],"children":[`;
}
