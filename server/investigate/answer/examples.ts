/** Examples of evidence: when it showed first, a message, or a trace. */

import type { QueryLimits } from "../../../engine/index.ts";
import { searchLogs, searchSpans, writeRowId } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { StatedEvidence } from "../../model/investigation.ts";
import type { Incident } from "../analysis/telemetry.ts";
import type { Evidence } from "./evidence.ts";

const messageLengthMax = 300;

/** Adds the oldest row that the evidence's query finds in the window. Throws what the store throws. */
export async function addExample(
  store: SearchableStore,
  { isNew = false, ...evidence }: Evidence & { id: string },
  { startMs, endMs }: Incident,
  limits?: QueryLimits,
): Promise<StatedEvidence> {
  const { query } = evidence;
  const asked = { query, startMs, endMs: endMs - 1, limit: 1, order: "oldest" } as const;
  if (query.startsWith("logs")) {
    const [row] = (await searchLogs(store, asked, limits)).rows;
    if (row === undefined) return evidence;
    const { trace_id: traceId } = row.attributes;
    const message = row.message.slice(0, messageLengthMax).toWellFormed();
    const at = Number(row.timeNs / 1_000_000n);
    return {
      ...(isNew ? { at } : {}),
      ...evidence,
      message,
      rowId: writeRowId(row),
      ...(traceId === undefined ? {} : { traceId }),
    };
  }
  if (!query.startsWith("traces")) return evidence;
  const [span] = (await searchSpans(store, asked, limits)).spans;
  if (span === undefined) return evidence;
  const at = Number(span.startNs / 1_000_000n);
  return { ...(isNew ? { at } : {}), ...evidence, traceId: span.traceId };
}
