/** Bodies of answers to OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */

import type { ErrorBody } from "../../api/route.ts";
import { otlp } from "./schema.ts";

export const protobufType = "application/x-protobuf";
export const jsonType = "application/json";

/** Codes of google.rpc.Status by HTTP status; any other is 2, "unknown". */
const codeOfStatus: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  415: 3,
  429: 8,
  500: 13,
  503: 14,
};

/** The body of an error answer: a `google.rpc.Status` in the encoding of the request with these headers. */
export function statusBody(
  { status, message }: { status: number; message: string },
  headers: ReadonlyMap<string, string>,
): ErrorBody {
  const isJson = wantsJson(headers);
  const body = encodeMessage("Status", { code: codeOfStatus[status] ?? 2, message }, isJson);
  return { contentType: isJson ? jsonType : protobufType, body };
}

/** Returns whether to answer in JSON: the answer has the encoding of the request. */
export function wantsJson(headers: ReadonlyMap<string, string>): boolean {
  return (headers.get("content-type") ?? "").trim().toLowerCase().startsWith(jsonType);
}

/** Encodes a message of the OTLP schema in JSON or protobuf. */
export function encodeMessage(message: string, fields: object, isJson: boolean): string | Uint8Array {
  const type = otlp.lookupType(message);
  return isJson ? JSON.stringify(fields) : type.encode(type.fromObject(fields)).finish();
}
