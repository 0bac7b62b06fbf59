/** POST /api/v2/spans: what tracers and OpenTelemetry's exporters send to Zipkin. */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";

export function zipkinRoutes(intake: Intake): Route[] {
  return [
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: "/api/v2/spans",
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes: ["application/json", ""] }),
      errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
      handle: (input) => takeSpans(intake, input),
    }),
  ];
}

/** Answers 400 for refused spans even where others were stored; tracers do not send such a body again. */
async function takeSpans(intake: Intake, input: BatchInput): Promise<Reply> {
  const {
    accepted,
    refused,
    dropped = 0,
    errors,
  } = await intake.take({
    signal: "traces",
    format: "zipkin",
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
  });
  const [first] = errors;
  if (first === undefined) return new Reply({ status: 202, body: "" });
  const spans = `${refused} of ${accepted + dropped + refused} spans were refused`;
  throw new Refusal(400, `${spans}; span ${first.line}: ${first.reason}`);
}
