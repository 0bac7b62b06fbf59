/** What the gateway counts. */

import type { Counter, Metrics } from "../../metrics/metrics.ts";

/** What the gauges show. */
export interface GatewayState {
  bufferBytes: () => number;
  bufferBodies: () => number;
  heldBytes: () => number;
  hasRules: () => boolean;
}

export class GatewayMetrics {
  readonly bodies: Counter;
  readonly excluded: Counter;
  readonly rejectedRules: Counter;
  readonly unfiltered: Counter;
  readonly buffered: Counter;
  readonly forwarded: Counter;
  readonly refused: Counter;
  readonly dropped: Counter;
  readonly retries: Counter;

  constructor(metrics: Metrics, state: GatewayState) {
    this.bodies = metrics.counter(
      "svc_gateway_bodies_total",
      "OTLP bodies that were answered, by signal and status.",
    );
    this.excluded = metrics.counter(
      "svc_gateway_excluded_total",
      "Records that ingestion rules left out, by rule.",
    );
    this.rejectedRules = metrics.counter(
      "svc_gateway_rejected_rules_total",
      "Ingestion rules that were not put in force, since they are malformed.",
    );
    this.unfiltered = metrics.counter(
      "svc_gateway_opened_without_rules_total",
      "Times that bodies were let through, since no rules came in time.",
    );
    this.buffered = metrics.counter(
      "svc_gateway_buffered_total",
      "Bodies that were written to the disk buffer.",
    );
    this.forwarded = metrics.counter("svc_gateway_forwarded_total", "Bodies that the hub took.");
    this.refused = metrics.counter(
      "svc_gateway_refused_total",
      "Bodies that the hub refused as bad input, by status and whether they had been buffered.",
    );
    this.dropped = metrics.counter(
      "svc_gateway_dropped_total",
      "Bodies of the disk buffer that were lost, by reason: overflow or damage.",
    );
    this.retries = metrics.counter("svc_gateway_retries_total", "Tries to reach the hub that failed.");
    metrics.gauge("svc_gateway_buffer_bytes", "Bytes of the disk buffer.", state.bufferBytes);
    metrics.gauge("svc_gateway_buffer_bodies", "Bodies that wait in the disk buffer.", state.bufferBodies);
    metrics.gauge(
      "svc_gateway_held_bytes",
      "Bytes of bodies that wait for the first rules.",
      state.heldBytes,
    );
    metrics.gauge("svc_gateway_has_rules", "1 once rules arrived.", () => (state.hasRules() ? 1 : 0));
  }
}
