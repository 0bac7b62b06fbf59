import type { Span } from "../../query/index.ts";

/** A span as the JSON of an answer. Nanoseconds are texts: they are beyond what numbers hold exactly. */
export function spanText({ startNs, endNs, ...span }: Span): string {
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
