/** POST /api/traces: what Jaeger's clients send to its collector, as Thrift over HTTP. */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";

const contentTypes = ["application/x-thrift", "application/vnd.apache.thrift.binary"];

export function jaegerRoutes(intake: Intake): Route[] {
  return [
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: "/api/traces",
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes }),
      errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
      handle: (input) => takeSpans(intake, input),
    }),
  ];
}

/** Answers 400 for refused spans even where others were stored; clients do not send such a body again. */
async function takeSpans(intake: Intake, input: BatchInput): Promise<Reply> {
  const {
    accepted,
    refused,
    dropped = 0,
    errors,
  } = await intake.take({
    signal: "traces",
    format: "jaeger",
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
  });
  const [first] = errors;
  if (first === undefined) return new Reply({ status: 202, body: "" });
  const spans = `${refused} of ${accepted + dropped + refused} spans were refused`;
  throw new Refusal(400, `${spans}; span ${first.line}: ${first.reason}`);
}
