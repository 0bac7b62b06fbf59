import type { FoundRow } from "../../engine/index.ts";

/** A span of a trace, as it was received. */
export interface Span {
  traceId: string;
  spanId: string;
  /** "" for a span without a parent. */
  parentSpanId: string;
  name: string;
  kind?: string;
  /** Nanoseconds since the epoch. */
  startNs: bigint;
  /** Nanoseconds since the epoch. Absent, as `durationMs` is, for a span that was received without its end. */
  endNs?: bigint;
  durationMs?: number;
  statusCode?: string;
  statusMessage?: string;
  /**
   * The attributes that the sender set. An attribute that is named like a label of spans has `attributes.` before its
   * name.
   */
  attributes: Record<string, string>;
}

/** Makes a span of a row of the signal `traces`. */
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
  const durationNs = Math.round(durationMs * 1e6);
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    ...(kind === undefined ? {} : { kind }),
    startNs: timeNs,
    ...(Number.isFinite(durationNs) ? { endNs: timeNs + BigInt(durationNs), durationMs } : {}),
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    attributes,
  };
}
