/** Turns what a route threw into an answer. */

import { randomBytes } from "node:crypto";
import { Failure } from "../../engine/index.ts";
import type { ErrorBody, Reply } from "../api/route.ts";
import { jsonReply } from "../api/route.ts";
import { Refusal, tryLater } from "../throttle/refusal.ts";

/** Headers of every answer: caches must not store telemetry, pages must not frame it, other sites must not read it. */
export const securityHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

/** The answer for an error. Errors of the server are logged with a number, and the answer holds only that number. */
export function errorReplyOf(
  error: unknown,
  log: (message: string) => void,
  errorBody?: (error: Refusal) => ErrorBody,
): Reply {
  const refusal = refusalOf(error, log) ?? logInternal(error, log);
  const { status, headers, message, details } = refusal;
  if (errorBody === undefined) return jsonReply({ error: message, ...details }, status, headers);
  const { contentType, body } = errorBody(refusal);
  return { status, headers: { "Content-Type": contentType, ...headers }, body };
}

function logInternal(error: unknown, log: (message: string) => void): Refusal {
  const id = randomBytes(6).toString("hex");
  log(`request ${id} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return new Refusal(500, `an internal error, logged by the server as ${id}`);
}

function refusalOf(error: unknown, log: (message: string) => void): Refusal | null {
  if (error instanceof Refusal) return error;
  if (!(error instanceof Failure)) return null;
  switch (error.kind) {
    case "input":
    case "limit":
      return new Refusal(400, error.message);
    case "deadline":
    case "overload":
      return tryLater(error.message, 1);
    case "cancelled":
      return tryLater("the request was given up", 1);
    case "disk-full":
      return tryLater(error.message, 30);
    case "folder":
      return tryLater("the server cannot use its data folder any more; its log says why", 30);
    case "damage":
      log(`a request met damage: ${error.message}`);
      return new Refusal(
        503,
        "stored data that this needs is damaged; the server's log and `svc verify` say where",
      );
  }
}
