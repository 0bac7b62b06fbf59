/** POST /api/v1/write: Prometheus' remote write, both versions. */

import type { Reply, Route, ServerRequest } from "../../api/route.ts";
import { Refusal } from "../../limits/refusal.ts";
import type { Intake } from "../intake.ts";
import { ingestBodyBytesMax } from "../limits.ts";
import { sentBy } from "../routes.ts";

const secondProto = "io.prometheus.write.v2.Request";
const protos: readonly string[] = ["prometheus.WriteRequest", secondProto];

export function remoteWriteRoutes(intake: Intake): Route[] {
  return [
    {
      method: "POST",
      path: "/api/v1/write",
      permission: "ingest",
      body: { bytesMax: ingestBodyBytesMax, contentTypes: ["application/x-protobuf"] },
      deadlineMs: 60_000,
      errorBody: ({ message }) => ({ contentType: "text/plain; charset=utf-8", body: `${message}\n` }),
      answer: (request) => write(intake, request),
    },
  ];
}

/** 400 where a sample was refused although others were taken, as both versions say: senders do not send such a body again. */
async function write(intake: Intake, request: ServerRequest): Promise<Reply> {
  const isSecond = protoOf(request.headers) === secondProto;
  const encoding = (request.headers.get("content-encoding") ?? "snappy").trim().toLowerCase();
  if (encoding !== "snappy") throw new Refusal(415, `the Content-Encoding must be snappy, got ${encoding}`);
  const {
    accepted,
    refused,
    dropped = 0,
    errors,
  } = await intake.take({
    signal: "metrics",
    format: isSecond ? "remote write 2" : "remote write 1",
    encoding: "snappy",
    ...sentBy(request),
  });
  const first = errors[0];
  if (first !== undefined) {
    throw new Refusal(400, `${refused} samples were refused; sample ${first.line}: ${first.reason}`, {
      headers: isSecond ? written(accepted + dropped) : {},
    });
  }
  return { status: 204, headers: isSecond ? written(accepted + dropped) : {}, body: "" };
}

/** What version 2.0 has a receiver confirm; histograms are samples here, exemplars are not stored. */
function written(samples: number): Record<string, string> {
  return {
    "X-Prometheus-Remote-Write-Samples-Written": String(samples),
    "X-Prometheus-Remote-Write-Histograms-Written": "0",
    "X-Prometheus-Remote-Write-Exemplars-Written": "0",
  };
}

/** The message that Content-Type names; version 1.0 may leave it out. */
function protoOf(headers: ReadonlyMap<string, string>): string {
  const [, name = protos[0]!] = /;\s*proto\s*=\s*"?([^\s";]+)/.exec(headers.get("content-type") ?? "") ?? [];
  if (protos.includes(name)) return name;
  throw new Refusal(
    415,
    `the proto of the Content-Type must be ${protos.join(" or ")}, got ${name.slice(0, 80)}`,
  );
}
