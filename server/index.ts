/** The public face of the server layer: a server in this process, for tests and benchmarks. */

export type { Service, ServiceSettings } from "./service.ts";
export { startService } from "./service.ts";
