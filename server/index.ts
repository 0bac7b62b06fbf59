/** The public face of the server layer: a server in this process, and the way from a body to a batch, for tests and benchmarks. */

export { decodeBody } from "./ingest/decode.ts";
export type { BodyFormat, DecodedBody } from "./ingest/protocol.ts";
export type { Service, ServiceSettings } from "./service.ts";
export { startService } from "./service.ts";
