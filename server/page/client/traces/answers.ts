/** Answers about spans, as far as the page reads them. */

import type { FoundLog } from "../api/answers.ts";

/** A span as a search shows it. */
export interface FoundSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind?: string;
  startTimeUnixNano: string;
  endTimeUnixNano?: string;
  durationMs?: number;
  statusCode?: string;
  statusMessage?: string;
  attributes: Record<string, string>;
}

/** A span in its trace. */
export interface TreeSpan extends FoundSpan {
  orphan?: boolean;
  logs: FoundLog[];
  children: TreeSpan[];
}

export interface TraceAnswer {
  traceId: string;
  /** Unix milliseconds. */
  startTime: number;
  durationMs: number;
  spans: number;
  services: string[];
  roots: TreeSpan[];
  /** Logs that name no span of the trace. */
  logs: FoundLog[];
  truncated?: boolean;
}

export interface SpanPage {
  count: number;
  spans: FoundSpan[];
  cursor?: string;
  warnings?: string[];
}

/** What was measured of some calls; durations in milliseconds, null where no call has one. */
export interface CallNumbers {
  calls: number;
  errors: number;
  p50: number | null;
  p90: number | null;
  p99: number | null;
}

export interface ServiceNode extends CallNumbers {
  name: string;
  kind: "service" | "database" | "messaging" | "external";
}

export interface ServiceEdge extends CallNumbers {
  from: string;
  to: string;
}

export interface ServiceMapAnswer {
  /** Unix milliseconds: the range, or its newest part where it has too many spans. */
  startTime: number;
  endTime: number;
  spans: number;
  services: ServiceNode[];
  edges: ServiceEdge[];
  warnings?: string[];
}
