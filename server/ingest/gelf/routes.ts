/** POST /gelf: Graylog's input of GELF over HTTP. */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";

/** Graylog takes any type, and senders name many. */
const contentTypes = ["application/json", "text/plain", "application/x-www-form-urlencoded", ""];

export function gelfRoutes(intake: Intake): Route[] {
  return [
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: "/gelf",
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
      errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
      handle: (input) => takeMessages(intake, input),
    }),
  ];
}

/** Answers 400 for refused messages even where others were stored; senders do not send such a body again. */
async function takeMessages(intake: Intake, input: BatchInput): Promise<Reply> {
  const {
    accepted,
    refused,
    dropped = 0,
    errors,
  } = await intake.take({
    signal: "logs",
    format: "gelf",
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
  });
  const [first] = errors;
  if (first === undefined) return new Reply({ status: 202, body: "" });
  const messages = `${refused} of ${accepted + dropped + refused} messages were refused`;
  throw new Refusal(400, `${messages}; message ${first.line}: ${first.reason}`);
}
