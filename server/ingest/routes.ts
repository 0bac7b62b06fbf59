/** POST /api/v1/ingest/{logs|spans|metrics|profiles|kubernetes_resources} */

import type { Signal } from "../../engine/index.ts";
import { encodingOf } from "../api/content-encoding.ts";
import type { Reply, Route, ServerRequest } from "../api/route.ts";
import { jsonReply } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import { shown } from "../text/quote.ts";
import type { Intake, IntakeBody } from "./intake.ts";
import { idempotencyKeyLengthMax, ingestBodyBytesMax } from "./limits.ts";

/** JSON lines have no registered type, so every name in use will do; but not curl's default, whose `-d` eats the newlines. */
const contentTypes = [
  "application/json",
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
  "application/json-lines",
  "text/plain",
  "application/octet-stream",
  "",
];

/** What comes in under which name. */
const signalOfPath = {
  logs: "logs",
  spans: "traces",
  metrics: "metrics",
  profiles: "profiles",
  kubernetes_resources: "kubernetes_resources",
} as const satisfies Record<string, Signal>;

export function ingestRoutes(intake: Intake): Route[] {
  return Object.entries(signalOfPath).map(([name, signal]) => ({
    method: "POST",
    path: `/api/v1/ingest/${name}`,
    permission: "ingest",
    body: { bytesMax: ingestBodyBytesMax, contentTypes },
    deadlineMs: 60_000,
    answer: (request) => ingest(intake, signal, request),
  }));
}

/** 200 as soon as one row is taken; 400 where every single one was refused, so that a wrong format does not pass for success. */
async function ingest(intake: Intake, signal: Signal, request: ServerRequest): Promise<Reply> {
  const taken = await intake.take({
    signal,
    format: "json lines",
    encoding: encodingOf(request.headers),
    ...sentBy(request),
  });
  const first = taken.errors[0];
  if (taken.accepted > 0 || taken.dropped !== undefined || first === undefined) return jsonReply(taken);
  const rows = taken.refused === 1 ? "the only row was" : `all ${taken.refused} rows were`;
  return jsonReply({ error: `${rows} refused; line ${first.line}: ${first.reason}`, ...taken }, 400);
}

/** What is the same for every protocol. Throws Refusal 400 where a header cannot be used. */
export function sentBy(
  request: ServerRequest,
): Pick<IntakeBody, "body" | "sender" | "environment" | "key" | "flattensJson"> {
  return {
    body: request.body,
    sender: request.caller.tokenId ?? "",
    environment: request.caller.environment,
    key: keyOf(request),
    flattensJson: flattensJsonOf(request),
  };
}

/** `flatten-json` as a header, or as a parameter of the address for senders that cannot set headers. */
function flattensJsonOf({ headers, query }: ServerRequest): boolean | undefined {
  const text = headers.get("flatten-json") ?? query.get("flatten-json");
  if (text === undefined || text === null) return undefined;
  if (["", "true", "1"].includes(text)) return true;
  if (["false", "0"].includes(text)) return false;
  throw new Refusal(400, `flatten-json must be true or false, got ${shown(text)}`);
}

/** What the sender calls the body; null where it does not. */
function keyOf(request: ServerRequest): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === undefined) return null;
  if (key !== "" && key.length <= idempotencyKeyLengthMax) return key;
  throw new Refusal(
    400,
    `Idempotency-Key must have 1 to ${idempotencyKeyLengthMax} characters, got ${key.length}`,
  );
}
