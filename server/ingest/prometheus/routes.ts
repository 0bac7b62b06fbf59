/** POST /api/v1/write: Prometheus' remote write, versions 1.0 and 2.0. */

import { defineRoute, raw } from "../../api/define-route.ts";
import { Reply, type Route } from "../../api/route.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "../batch-route.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import type { WrittenCounts } from "./series-samples.ts";

const version2Proto = "io.prometheus.write.v2.Request";
const protos: readonly string[] = ["prometheus.WriteRequest", version2Proto];

export function remoteWriteRoutes(intake: Intake): Route[] {
  return [
    defineRoute({
      ...batchRoute,
      method: "POST",
      path: "/api/v1/write",
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes: ["application/x-protobuf"] }),
      errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
      handle: (input) => write(intake, input),
    }),
  ];
}

/**
 * Answers 400 where a sample was refused, even if others were stored. Both versions ask for that: senders do not send
 * such a body again.
 */
async function write(intake: Intake, input: BatchInput): Promise<Reply> {
  const isVersion2 = readProto(input.request.headers) === version2Proto;
  const encoding = (input.request.headers.get("content-encoding") ?? "snappy").trim().toLowerCase();
  if (encoding !== "snappy") throw new Refusal(415, `the Content-Encoding must be snappy, got ${encoding}`);
  const taken = await intake.take({
    signal: "metrics",
    format: isVersion2 ? "remote write 2" : "remote write 1",
    encoding: "snappy",
    ...toIntakeBody(input),
  });
  const { refused, errors, answer } = taken;
  const headers = answer === undefined ? {} : writtenHeaders(JSON.parse(answer) as WrittenCounts);
  const first = errors[0];
  if (first === undefined) return new Reply({ status: 204, headers, body: "" });
  const problem = `${refused} samples were refused; sample ${first.line}: ${first.reason}`;
  throw new Refusal(400, problem, { headers });
}

/** Headers in which a receiver of version 2.0 confirms what it stored. Exemplars are not stored. */
function writtenHeaders({ samples, histograms }: WrittenCounts): Record<string, string> {
  return {
    "X-Prometheus-Remote-Write-Samples-Written": String(samples),
    "X-Prometheus-Remote-Write-Histograms-Written": String(histograms),
    "X-Prometheus-Remote-Write-Exemplars-Written": "0",
  };
}

/** The message type in Content-Type; version 1.0 may omit it. */
function readProto(headers: ReadonlyMap<string, string>): string {
  const [, name = protos[0]!] = /;\s*proto\s*=\s*"?([^\s";]+)/.exec(headers.get("content-type") ?? "") ?? [];
  if (protos.includes(name)) return name;
  throw new Refusal(
    415,
    `the proto of the Content-Type must be ${protos.join(" or ")}, got ${name.slice(0, 80)}`,
  );
}
