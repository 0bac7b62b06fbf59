/** What the ingestion routes of all protocols share: permission, deadline, and the headers that describe a batch. */

import * as z from "zod";
import { encodingOf } from "../api/content-encoding.ts";
import { defineRoute, type Input, raw } from "../api/define-route.ts";
import { Reply, type Route } from "../api/route.ts";
import { describeValue } from "../text/quote.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Intake, IntakeBody } from "./intake.ts";
import { idempotencyKeyLengthMax, ingestBodyBytesMax } from "./limits.ts";

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
  Input<string, Uint8Array, Record<never, never>, typeof headers>,
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

/** Bodies of a protocol whose senders do not send a part of a body again. */
export interface WholeBody extends Pick<IntakeBody, "signal" | "format"> {
  path: string;
  /** "" stands for none. */
  contentTypes: readonly string[];
  /** What errors call one row of a body. */
  rowName: string;
}

/** A route that answers 202 without a text, and errors as plain text. */
export function wholeBodyRoute(intake: Intake, { path, contentTypes, rowName, ...body }: WholeBody): Route {
  return defineRoute({
    ...batchRoute,
    method: "POST",
    path,
    body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
    errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
    handle: async (input) => {
      await takeWhole(intake, input, body, rowName);
      return new Reply({ status: 202, body: "" });
    },
  });
}

/** Throws Refusal 400 where some of a body was refused, even where the rest was stored. */
export async function takeWhole(
  intake: Intake,
  input: BatchInput,
  body: Pick<IntakeBody, "signal" | "format" | "parameters">,
  rowName: string,
): Promise<void> {
  const encoding = encodingOf(input.request.headers);
  const taken = await intake.take({ ...body, encoding, ...toIntakeBody(input) });
  const { accepted, refused, dropped = 0, errors } = taken;
  const [first] = errors;
  if (first === undefined) return;
  const refusedRows = `${refused} of ${accepted + dropped + refused} ${rowName}s were refused`;
  throw new Refusal(400, `${refusedRows}; ${rowName} ${first.line}: ${first.reason}`);
}
