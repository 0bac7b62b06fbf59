/**
 * InfluxDB's addresses for lines: POST /write of version 1, POST /api/v2/write, and what Telegraf and clients ask before
 * they write.
 */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { jsonBodyBytesMax } from "../../api/limits.ts";
import { type ErrorBody, jsonReply, Reply, type Route } from "../../api/route.ts";
import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { precisionParameter, precisions } from "./decode.ts";

const formType = "application/x-www-form-urlencoded";
const contentTypes = ["text/plain", "application/octet-stream", formType, ""];
const version = "1.8.10";
/** Telegraf asks for this before its first line; there is nothing to be created. */
const createDatabase = /^\s*create\s+database\b/i;

export function influxRoutes(intake: Intake): Route[] {
  return [
    writeRoute(intake, "/write", errorOfVersion1),
    writeRoute(intake, "/api/v2/write", errorOfVersion2),
    defineRoute({
      method: "GET",
      path: "/ping",
      permission: null,
      errorBody: errorOfVersion1,
      handle: async () => new Reply({ status: 204, headers: { "X-Influxdb-Version": version }, body: "" }),
    }),
    defineRoute({
      method: "POST",
      path: "/query",
      permission: "ingest",
      body: raw({ bytesMax: jsonBodyBytesMax, contentTypes }),
      errorBody: errorOfVersion1,
      handle: async ({ request, body }) => {
        const form = new URLSearchParams(Buffer.from(body).toString("utf8"));
        const query = request.query.get("q") ?? form.get("q") ?? "";
        if (createDatabase.test(query)) return jsonReply({ results: [{ statement_id: 0 }] });
        throw new Refusal(
          400,
          "queries of InfluxDB are not answered: POST /api/v1/query/timeseries asks for series",
        );
      },
    }),
  ];
}

function writeRoute(intake: Intake, path: string, errorBody: Route["errorBody"] & {}): Route {
  return defineRoute({
    ...batchRoute,
    method: "POST",
    path,
    body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
    errorBody,
    handle: (input) => write(intake, input),
  });
}

/** Answers 400 for refused lines even where others were stored, as InfluxDB does for a partial write. */
async function write(intake: Intake, input: BatchInput): Promise<Reply> {
  const { headers, query } = input.request;
  const precision = query.get("precision") ?? "ns";
  if (!precisions.has(precision)) {
    const known = [...precisions.keys()].join(", ");
    throw new Refusal(400, `precision must be one of ${known}, got ${describeValue(precision)}`);
  }
  const { refused, errors } = await intake.take({
    signal: "metrics",
    format: "influx lines",
    encoding: encodingOf(headers),
    ...toIntakeBody(input),
    parameters: { [precisionParameter]: precision },
  });
  const [first] = errors;
  if (first === undefined) return new Reply({ status: 204, body: "" });
  throw new Refusal(400, `partial write: ${refused} lines were refused; line ${first.line}: ${first.reason}`);
}

const codes: Readonly<Record<number, string>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  413: "request too large",
  429: "too many requests",
  503: "unavailable",
};

function errorOfVersion1({ message }: { message: string }): ErrorBody {
  return { contentType: "application/json", body: JSON.stringify({ error: message }) };
}

function errorOfVersion2({ status, message }: { status: number; message: string }): ErrorBody {
  const code = codes[status] ?? "internal error";
  return { contentType: "application/json", body: JSON.stringify({ code, message }) };
}
