/** The health service of gRPC (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). */

import protobuf from "protobufjs";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { messageType } from "./call.ts";

const { root } = protobuf.parse(`syntax = "proto3";
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse { int32 status = 1; }`);
const request = root.lookupType("HealthCheckRequest");
const response = root.lookupType("HealthCheckResponse");
const serving = 1;
const notServing = 2;

/** `services` are the names of those that can be asked about; "" stands for all. */
export function healthRoute(services: ReadonlySet<string>, notReady: () => string | null): Route {
  return {
    method: "POST",
    path: "/grpc.health.v1.Health/Check",
    permission: null,
    deadlineMs: 5_000,
    body: { bytesMax: 1_024, contentTypes: [messageType] },
    answer: async ({ body }) => {
      const service = readService(body);
      if (service !== "" && !services.has(service)) throw new Refusal(410, "no service has this name");
      const status = notReady() === null ? serving : notServing;
      return new Reply({ status: 200, body: response.encode({ status }).finish() });
    },
  };
}

function readService(body: Uint8Array): string {
  try {
    return (request.decode(body) as unknown as { service: string }).service;
  } catch {
    throw new Refusal(400, "the message is not a HealthCheckRequest");
  }
}
