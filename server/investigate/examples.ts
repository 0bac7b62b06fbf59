/** Examples of evidence: a message, or a trace. */

import type { QueryLimits } from "../../engine/index.ts";
import { searchLogs, searchSpans } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import type { Evidence } from "./evidence.ts";
import type { Incident } from "./telemetry.ts";

/** Evidence with the newest row that its query finds in the window. */
export interface ShownEvidence extends Evidence {
  /** The message of a log, shortened. */
  message?: string;
  traceId?: string;
}

const messageLengthMax = 300;

/** Throws what the store throws. */
export async function addExample(
  store: SearchableStore,
  evidence: Evidence,
  { startMs, endMs }: Incident,
  limits?: QueryLimits,
): Promise<ShownEvidence> {
  const { query } = evidence;
  const asked = { query, startMs, endMs: endMs - 1, limit: 1 };
  if (query.startsWith("logs")) {
    const [row] = (await searchLogs(store, asked, limits)).rows;
    if (row === undefined) return evidence;
    const { trace_id: traceId } = row.attributes;
    const message = row.message.slice(0, messageLengthMax);
    return { ...evidence, message, ...(traceId === undefined ? {} : { traceId }) };
  }
  if (!query.startsWith("traces")) return evidence;
  const [span] = (await searchSpans(store, asked, limits)).spans;
  return span === undefined ? evidence : { ...evidence, traceId: span.traceId };
}
