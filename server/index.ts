/**
 * Public face of the server layer, for tests and benchmarks: a server in this process, the decoding of bodies into
 * batches, alerting, investigations, metrics, the ingestion rules that the gateway of a cluster applies, and the settings
 * of a server's allocator.
 */

export { Alerting } from "./alerts/alerting.ts";
export { mallocSettings } from "./command/memory-start.ts";
export { decodeBody } from "./ingest/decode.ts";
export type { BodyFormat, DecodedBody } from "./ingest/decode-task.ts";
export { windowOfFires } from "./investigate/incident-window.ts";
export { investigate, investigateFires } from "./investigate/investigate.ts";
export { makeRuleSet } from "./kubernetes/gateway/rule-set.ts";
export { filterProtobuf } from "./kubernetes/gateway/wire/wire-filter.ts";
export { Metrics } from "./metrics/metrics.ts";
export type { Caller } from "./model/caller.ts";
export type { Service, ServiceSettings } from "./service.ts";
export { startService } from "./service.ts";
