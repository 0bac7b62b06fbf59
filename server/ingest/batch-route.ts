/** What the ingestion routes of all protocols share: permission, deadline, and the headers that describe a batch. */

import * as z from "zod";
import type { Input } from "../api/define-route.ts";
import { describeValue } from "../text/quote.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { IntakeBody } from "./intake.ts";
import { idempotencyKeyLengthMax } from "./limits.ts";

const keyLength = {
  error: ({ input }: { input?: unknown }) =>
    `must have 1 to ${idempotencyKeyLengthMax} characters, got ${(input as string).length}`,
};

const headers = {
  "Idempotency-Key": z.string().min(1, keyLength).max(idempotencyKeyLengthMax, keyLength).optional(),
  "flatten-json": z.string().optional(),
};

export const batchRoute = { permission: "ingest", deadlineMs: 60_000, headers } as const;

export type BatchInput = Pick<
  Input<string, Uint8Array<ArrayBuffer>, Record<never, never>, typeof headers>,
  "body" | "caller" | "headers" | "request"
>;

/** The part of an intake body that every protocol fills in the same way. Throws Refusal 400. */
export function toIntakeBody({
  body,
  caller,
  headers,
  request,
}: BatchInput): Pick<IntakeBody, "body" | "sender" | "environment" | "key" | "flattensJson"> {
  return {
    body,
    sender: caller.tokenId ?? "",
    environment: caller.environment,
    key: headers["Idempotency-Key"] ?? null,
    // Senders that cannot set headers set this in the query string.
    flattensJson: parseSwitch(headers["flatten-json"] ?? request.query.get("flatten-json")),
  };
}

function parseSwitch(text: string | null): boolean | undefined {
  if (text === null) return undefined;
  if (["", "true", "1"].includes(text)) return true;
  if (["false", "0"].includes(text)) return false;
  throw new Refusal(400, `flatten-json must be true or false, got ${describeValue(text)}`);
}
