import type { FoundRow } from "../../engine/index.ts";

/** A span as it was sent. */
export interface Span {
  traceId: string;
  spanId: string;
  /** "" for a span without a parent. */
  parentSpanId: string;
  name: string;
  kind?: string;
  /** Nanoseconds since the epoch. */
  startNs: bigint;
  /** Missing, as the duration, where no end was sent. */
  endNs?: bigint;
  durationMs?: number;
  statusCode?: string;
  statusMessage?: string;
  /** The span's own; one that is named like a field of it has `attributes.` before its name. */
  attributes: Record<string, string>;
}

/** The span that a row of traces stands for. */
export function toSpan({ timeNs, attributes: stored }: FoundRow): Span {
  const {
    trace_id: traceId = "",
    span_id: spanId = "",
    parent_span_id: parentSpanId = "",
    name = "",
    kind,
    status_code: statusCode,
    status_message: statusMessage,
    duration_ms: duration,
    ...attributes
  } = stored;
  const durationMs = duration === undefined ? Number.NaN : Number(duration);
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    ...(kind === undefined ? {} : { kind }),
    startNs: timeNs,
    ...(Number.isFinite(durationMs)
      ? { endNs: timeNs + BigInt(Math.round(durationMs * 1e6)), durationMs }
      : {}),
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    attributes,
  };
}
