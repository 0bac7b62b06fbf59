/**
 * Datadog's log intake (https://docs.datadoghq.com/api/latest/logs/#send-logs), and the older address of it, at which
 * clients may have their key in the path.
 */

import { defineRoute, raw } from "../../api/define-route.ts";
import { type ErrorBody, jsonReply, type Reply, type Route } from "../../api/route.ts";
import { type BatchInput, batchRoute, takeWhole } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { sharedFields } from "./decode.ts";

const textType = "text/plain";
const contentTypes = ["application/json", textType, ""];
const endpoints = [
  { path: "/api/v2/logs", success: 202 },
  { path: "/v1/input", success: 200 },
  { path: "/v1/input/{token}", success: 200, tokenParameter: "token" },
] as const;

export function datadogRoutes(intake: Intake): Route[] {
  return endpoints.map(({ success, ...place }) =>
    defineRoute({
      ...batchRoute,
      ...place,
      method: "POST",
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
      errorBody,
      handle: (input) => takeLogs(intake, success, input),
    }),
  );
}

async function takeLogs(intake: Intake, status: number, input: BatchInput): Promise<Reply> {
  const { headers, query } = input.request;
  const isText = (headers.get("content-type") ?? "").trim().toLowerCase().startsWith(textType);
  const given = sharedFields.map((name) => [name, query.get(name) ?? ""] as const);
  const parameters = Object.fromEntries(given.filter(([, text]) => text !== ""));
  const body = { signal: "logs", format: isText ? "datadog text" : "datadog", parameters } as const;
  await takeWhole(intake, input, body, "log");
  return jsonReply({}, status);
}

function errorBody({ status, message }: { status: number; message: string }): ErrorBody {
  const error = { status: String(status), title: "the logs were not taken", detail: message };
  return { contentType: "application/json", body: JSON.stringify({ errors: [error] }) };
}
