/**
 * Statuses of gRPC (https://grpc.github.io/grpc/core/md_doc_statuscodes.html), and which of them stands for which
 * answer over HTTP. Clients of OTLP send again after UNAVAILABLE, DEADLINE_EXCEEDED, and RESOURCE_EXHAUSTED with a
 * RetryInfo (https://opentelemetry.io/docs/specs/otlp/#failures).
 */

import protobuf from "protobufjs";
import type { Reply } from "../../api/route.ts";

const codes = {
  OK: 0,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatusName = keyof typeof codes;

/**
 * By HTTP status. What is too large (413, 431) is not RESOURCE_EXHAUSTED: older clients send that again whatever comes
 * with it.
 */
const nameOfStatus: Readonly<Record<number, GrpcStatusName>> = {
  200: "OK",
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "UNIMPLEMENTED",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  // A service that the health service does not know.
  410: "NOT_FOUND",
  413: "INVALID_ARGUMENT",
  415: "UNIMPLEMENTED",
  429: "RESOURCE_EXHAUSTED",
  431: "INVALID_ARGUMENT",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

export function grpcStatusName(status: number): GrpcStatusName {
  return nameOfStatus[status] ?? "UNKNOWN";
}

/** The messages of google/rpc/status.proto and error_details.proto that are answered. */
const { root } = protobuf.parse(`syntax = "proto3";
message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
message Any { string type_url = 1; bytes value = 2; }
message RetryInfo { Duration retry_delay = 1; }
message Duration { int64 seconds = 1; int32 nanos = 2; }`);
const status = root.lookupType("Status");
const retryInfo = root.lookupType("RetryInfo");

/** The headers that end a call with an error. */
export function errorTrailers(reply: Pick<Reply, "status" | "headers">, message: string) {
  const code = codes[grpcStatusName(reply.status)];
  const retrySeconds = reply.headers?.["Retry-After"];
  const trailers = { "grpc-status": String(code), "grpc-message": encodeGrpcMessage(message) };
  if (retrySeconds === undefined) return trailers;
  const value = retryInfo.encode({ retryDelay: { seconds: Number(retrySeconds) } }).finish();
  const details = [{ typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value }];
  const bytes = Buffer.from(status.encode(status.fromObject({ code, message, details })).finish());
  return { ...trailers, "grpc-status-details-bin": bytes.toString("base64") };
}

/** Bytes of a message that is sent in a header: clients refuse long headers. */
const messageBytesMax = 1_024;

/** The text of an error as a header holds it: UTF-8, with `%` before the hexadecimal digits of what is not ASCII. */
function encodeGrpcMessage(message: string): string {
  let text = "";
  for (const byte of Buffer.from(message, "utf8").subarray(0, messageBytesMax)) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    text += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}
