/** POST /loki/api/v1/push: what promtail, Grafana Alloy, Fluent Bit and Vector send to Loki. */

import { encodingOf } from "../../api/content-encoding.ts";
import { defineRoute, raw } from "../../api/define-route.ts";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";

const jsonType = "application/json";
const protobufType = "application/x-protobuf";

/** The tenant header, `X-Scope-OrgID`, is ignored: the token identifies the sender. */
export function lokiRoutes(intake: Intake): Route[] {
  return ["/loki/api/v1/push", "/api/prom/push"].map((path) =>
    defineRoute({
      ...batchRoute,
      method: "POST",
      path,
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes: [jsonType, protobufType] }),
      errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
      handle: (input) => push(intake, input),
    }),
  );
}

/**
 * Answers 400 for refused entries even where others were stored, as Loki does; agents do not send such a body again.
 */
async function push(intake: Intake, input: BatchInput): Promise<Reply> {
  const isJson = (input.request.headers.get("content-type") ?? "").trim().toLowerCase().startsWith(jsonType);
  const taken = await intake.take({
    signal: "logs",
    format: isJson ? "loki json" : "loki",
    encoding: isJson ? encodingOf(input.request.headers) : "snappy",
    ...toIntakeBody(input),
  });
  const { accepted, refused, dropped = 0, errors } = taken;
  const first = errors[0];
  if (first === undefined) return new Reply({ status: 204, body: "" });
  const rows = `${refused} of ${accepted + dropped + refused} entries were refused`;
  throw new Refusal(400, `${rows}; entry ${first.line}: ${first.reason}`);
}
