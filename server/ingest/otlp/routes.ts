/**
 * POST /v1/{logs|traces|metrics}: OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp), and the same
 * over gRPC.
 */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake, IntakeResult } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { encodeMessage, jsonType, protobufType, statusBody, wantsJson } from "./answer.ts";

interface Endpoint {
  signal: "logs" | "traces" | "metrics";
  grpcMethod: string;
  /** Message type of the answer. */
  response: string;
  /** The field that counts rejected rows in the answer's partial success. */
  rejected: string;
}

const endpoints: readonly Endpoint[] = [
  {
    signal: "logs",
    grpcMethod: "opentelemetry.proto.collector.logs.v1.LogsService/Export",
    response: "LogsResponse",
    rejected: "rejectedLogRecords",
  },
  {
    signal: "traces",
    grpcMethod: "opentelemetry.proto.collector.trace.v1.TraceService/Export",
    response: "TraceResponse",
    rejected: "rejectedSpans",
  },
  {
    signal: "metrics",
    grpcMethod: "opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    response: "MetricsResponse",
    rejected: "rejectedDataPoints",
  },
];

export function otlpRoutes(intake: Intake): Route[] {
  return endpoints.map((endpoint) =>
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: `/v1/${endpoint.signal}`,
      grpcMethod: endpoint.grpcMethod,
      body: raw({
        bytesMax: ingestBodyBytesMax,
        contentTypes: [protobufType, jsonType, "application/protobuf"],
      }),
      errorBody: statusBody,
      handle: (input) => takeBatch(intake, endpoint, input),
    }),
  );
}

async function takeBatch(intake: Intake, endpoint: Endpoint, input: BatchInput): Promise<Reply> {
  const isJson = wantsJson(input.request.headers);
  const taken = await intake.take({
    signal: endpoint.signal,
    format: isJson ? `otlp ${endpoint.signal} json` : `otlp ${endpoint.signal}`,
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
  });
  const partialSuccess = partialSuccessOf(endpoint, taken);
  return new Reply({
    status: 200,
    headers: { "Content-Type": isJson ? jsonType : protobufType },
    body: encodeMessage(endpoint.response, partialSuccess === undefined ? {} : { partialSuccess }, isJson),
  });
}

/**
 * Returns the partial success to answer, undefined where every row was taken. Throws Refusal 400 where every row was
 * refused. Neither answer makes the sender retry.
 */
function partialSuccessOf(
  { rejected }: Endpoint,
  { accepted, refused, dropped, errors, cutElements = 0 }: IntakeResult,
) {
  const first = errors[0];
  if (first === undefined && cutElements === 0) return undefined;
  if (first === undefined) {
    const errorMessage = `${cutElements} events and links were left out of spans that have too many`;
    return { [rejected]: "0", errorMessage };
  }
  const errorMessage = `record ${first.line}: ${first.reason}`;
  if (accepted === 0 && dropped === undefined)
    throw new Refusal(400, `none of the ${refused} records can be stored; ${errorMessage}`);
  return { [rejected]: String(refused), errorMessage };
}
