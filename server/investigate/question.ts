/** What people ask to investigate: a window, what a query finds in it, or a trace. */

import * as z from "zod";
import type { QueryLimits } from "../../engine/index.ts";
import { detectQueryKind, queryTrace } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import { json } from "../api/define-route.ts";
import { timeMsMax } from "../model/limits.ts";
import { strictObject, timeMs } from "../model/schema.ts";
import { describeRangeProblem } from "../search/search-body.ts";
import { makeFieldRefusal, Refusal } from "../throttle/refusal.ts";
import { windowMsMax } from "./incident-window.ts";
import type { InvestigatedWindow } from "./investigate.ts";

const traceId = z.string().regex(/^(?:[0-9a-f]{16}|[0-9a-f]{32})$/i, "must be 32 hexadecimal digits (or 16)");

export const questionBody = json(
  strictObject({
    startTime: timeMs.nullish().meta({ description: "Of the window; required without `traceId`" }),
    endTime: timeMs.nullish().meta({ description: "Inclusive, less than an hour later" }),
    query: z
      .string()
      .nullish()
      .meta({ description: "svcQL that finds logs or spans: their traces are compared with the usual ones" }),
    traceId: traceId
      .nullish()
      .meta({ description: "The trace that is compared with the usual ones, instead of a window" }),
  }),
);

type Question = ReturnType<typeof questionBody.read>;

/** Checks what stands in the body alone. Throws Refusal 400. */
export function checkQuestion({ startTime, endTime, query, traceId }: Question): void {
  if (traceId != null) {
    const other = Object.entries({ startTime, endTime, query }).find(([, value]) => value != null);
    if (other !== undefined) throw makeFieldRefusal(other[0], "must be absent beside traceId");
    return;
  }
  if (startTime == null) throw makeFieldRefusal("startTime", "is missing: a window or a traceId is required");
  if (endTime == null) throw makeFieldRefusal("endTime", "is missing");
  if (startTime > endTime) throw makeFieldRefusal("startTime", describeRangeProblem({ startTime, endTime }));
  if (endTime - startTime >= windowMsMax)
    throw makeFieldRefusal("endTime", "must be less than an hour after startTime");
  if (query != null && signalOf(query) === undefined)
    throw makeFieldRefusal("query", 'must find logs or spans, such as traces{status_code="error"}');
}

/** The window, and the search for traces in it. Throws Refusal 404 for an unknown trace, and what the store throws. */
export async function readWindow(
  store: SearchableStore,
  { startTime, endTime, query, traceId }: Question,
  limits: QueryLimits,
): Promise<InvestigatedWindow> {
  if (traceId != null) return await readWindowOfTrace(store, traceId, limits);
  const window = { startMs: startTime!, endMs: endTime! + 1 };
  return query == null ? window : { ...window, choice: { signal: signalOf(query)!, query } };
}

async function readWindowOfTrace(
  store: SearchableStore,
  traceId: string,
  limits: QueryLimits,
): Promise<InvestigatedWindow> {
  const trace = await queryTrace(store, { traceId, startMs: 0, endMs: timeMsMax }, limits);
  const [root] = trace?.roots ?? [];
  if (trace === undefined || root === undefined)
    throw new Refusal(404, `there are no spans of a trace ${traceId}`);
  const startMs = Number(trace.startNs / 1_000_000n);
  const endMs = startMs + Math.ceil(trace.durationMs) + 1;
  if (endMs - startMs > windowMsMax)
    throw makeFieldRefusal("traceId", "must be of a trace of less than an hour");
  // As its spans spell it.
  const query = `traces{trace_id=${JSON.stringify(root.span.traceId)}}`;
  return { startMs, endMs, choice: { signal: "traces", query } };
}

function signalOf(query: string): "logs" | "traces" | undefined {
  const kind = detectQueryKind(query);
  if (kind === "spans") return "traces";
  return kind === "logs" ? "logs" : undefined;
}
