/** POST /v1/{logs|traces|metrics}: OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { type ErrorBody, Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../limits/refusal.ts";
import { type BatchInput, batchOf, batchRoute } from "../batch-route.ts";
import type { Intake, Taken } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { otlp } from "./schema.ts";

const protobufType = "application/x-protobuf";
const jsonType = "application/json";

interface Endpoint {
  signal: "logs" | "traces" | "metrics";
  /** The answer's message, and the field of its partial success that counts. */
  response: string;
  rejected: string;
}

const endpoints: readonly Endpoint[] = [
  { signal: "logs", response: "LogsResponse", rejected: "rejectedLogRecords" },
  { signal: "traces", response: "TraceResponse", rejected: "rejectedSpans" },
  { signal: "metrics", response: "MetricsResponse", rejected: "rejectedDataPoints" },
];

export function otlpRoutes(intake: Intake): Route[] {
  return endpoints.map((endpoint) =>
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: `/v1/${endpoint.signal}`,
      body: raw({
        bytesMax: ingestBodyBytesMax,
        contentTypes: [protobufType, jsonType, "application/protobuf"],
      }),
      errorBody: statusBody,
      handle: (input) => take(intake, endpoint, input),
    }),
  );
}

async function take(intake: Intake, endpoint: Endpoint, input: BatchInput): Promise<Reply> {
  const isJson = wantsJson(input.request.headers);
  const taken = await intake.take({
    signal: endpoint.signal,
    format: isJson ? `otlp ${endpoint.signal} json` : `otlp ${endpoint.signal}`,
    encoding: encodingOf(input.request.headers),
    ...batchOf(input),
  });
  const partialSuccess = partialOf(endpoint, taken);
  return new Reply({
    status: 200,
    headers: { "Content-Type": isJson ? jsonType : protobufType },
    body: written(endpoint.response, partialSuccess === undefined ? {} : { partialSuccess }, isJson),
  });
}

/** Undefined where all was taken. Throws Refusal 400 where nothing was: the sender is not to try again either way. */
function partialOf({ rejected }: Endpoint, { accepted, refused, dropped, errors }: Taken) {
  const first = errors[0];
  if (first === undefined) return undefined;
  const errorMessage = `record ${first.line}: ${first.reason}`;
  if (accepted === 0 && dropped === undefined)
    throw new Refusal(400, `none of the ${refused} records can be stored; ${errorMessage}`);
  return { [rejected]: String(refused), errorMessage };
}

/** Codes of google.rpc.Status for what goes wrong over HTTP; others are "unknown". */
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

function statusBody(
  { status, message }: { status: number; message: string },
  headers: ReadonlyMap<string, string>,
): ErrorBody {
  const isJson = wantsJson(headers);
  const body = written("Status", { code: codeOfStatus[status] ?? 2, message }, isJson);
  return { contentType: isJson ? jsonType : protobufType, body };
}

/** The answer has the form of the request. */
function wantsJson(headers: ReadonlyMap<string, string>): boolean {
  return (headers.get("content-type") ?? "").trim().toLowerCase().startsWith(jsonType);
}

function written(message: string, fields: object, isJson: boolean): string | Uint8Array {
  const type = otlp.lookupType(message);
  return isJson ? JSON.stringify(fields) : type.encode(type.fromObject(fields)).finish();
}
