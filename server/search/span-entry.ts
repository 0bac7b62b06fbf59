/** The JSON of a span. */

import type { Span } from "../../query/index.ts";

/** Writes nanoseconds as strings, because JSON numbers do not hold them exactly. */
export function formatSpan({ startNs, endNs, ...span }: Span): string {
  const { traceId, spanId, parentSpanId, name, kind, durationMs, statusCode, statusMessage, attributes } =
    span;
  return JSON.stringify({
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    startTimeUnixNano: String(startNs),
    endTimeUnixNano: endNs === undefined ? undefined : String(endNs),
    durationMs,
    statusCode,
    statusMessage,
    attributes,
  });
}
