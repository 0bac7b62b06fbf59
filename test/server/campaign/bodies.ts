/** Small bodies of every protocol over HTTP, and of OTLP over gRPC. All rows of a body, and no others, have its name as the attribute `batch`. */
import snappy from "snappyjs";
import type { Signal } from "../../../engine/index.ts";
import type { Random } from "../../../fixtures/random.ts";
import { struct, tag } from "../../../fixtures/thrift.ts";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { writeRequest1 } from "../../../server/ingest/prometheus/schema.ts";
import { randomText } from "../../durability/rows/batches.ts";
import { codes, exportMethods, GrpcClient } from "../http/grpc-client.ts";
import { pushRequest } from "../ingest/loki-schema.ts";
import { lines } from "../running.ts";
import { type Answer, countsOf, jsonType, type ServerProcess, send } from "./server-process.ts";

export const rowsPerBody = 5;

/** The time of the first row: half an hour ago, so that all rows are of the recent past. */
const startMs = Date.now() - 1_800_000;

export interface SentBody {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  /** What all of its rows, and no others, have as the attribute `batch`. */
  batch: string;
  rows: number;
  /** Time of its first row. */
  firstMs: number;
  isAcknowledged: boolean;
}

type MakeBody = (batch: string, times: readonly number[]) => Pick<SentBody, "path" | "headers" | "body">;

const protobufType = { "Content-Type": "application/x-protobuf" };

function encoded(type: typeof pushRequest, request: object): Uint8Array<ArrayBuffer> {
  return new Uint8Array(type.encode(type.fromObject(request)).finish());
}

function text(body: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(body));
}

const attributesOf = (batch: string) => [{ key: "batch", value: { stringValue: batch } }];
const nanos = (ms: number) => `${ms}000000`;

function otlpLogs(batch: string, times: readonly number[]) {
  const logRecords = times.map((ms) => ({ timeUnixNano: nanos(ms), attributes: attributesOf(batch) }));
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

/** One for each protocol over HTTP, and one over gRPC. */
const makers: readonly MakeBody[] = [
  (batch, times) => ({
    path: "/api/v1/ingest/logs",
    headers: { "Content-Type": "application/x-ndjson" },
    body: text(lines(times.map((timestamp) => ({ timestamp, batch })))),
  }),
  (batch, times) => ({
    path: "/v1/logs",
    headers: protobufType,
    body: encoded(otlp.lookupType("LogsRequest"), otlpLogs(batch, times)),
  }),
  (batch, times) => ({
    path: exportMethods.logs,
    headers: {},
    body: encoded(otlp.lookupType("LogsRequest"), otlpLogs(batch, times)),
  }),
  (batch, times) => ({
    path: "/v1/logs",
    headers: jsonType,
    body: text(JSON.stringify(otlpLogs(batch, times))),
  }),
  (batch, times) => {
    const spans = times.map((ms, i) => ({
      traceId: Buffer.alloc(16, batch),
      spanId: Buffer.alloc(8, `${i}${batch}`),
      startTimeUnixNano: nanos(ms),
      attributes: attributesOf(batch),
    }));
    const request = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
    const body = encoded(otlp.lookupType("TraceRequest"), request);
    return { path: "/v1/traces", headers: protobufType, body };
  },
  (batch, times) => {
    const entries = times.map((ms) => ({
      timestamp: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
      line: "x",
    }));
    const request = encoded(pushRequest, { streams: [{ labels: `{batch="${batch}"}`, entries }] });
    const body = new Uint8Array(snappy.compress(request));
    return { path: "/loki/api/v1/push", headers: protobufType, body };
  },
  (batch, times) => ({
    path: "/_bulk",
    headers: { "Content-Type": "application/x-ndjson" },
    body: text(lines(times.flatMap((ms) => [{ create: {} }, { "@timestamp": ms, batch }]))),
  }),
  (batch, times) => {
    const timeseries = times.map((timestamp, i) => ({
      labels: Object.entries({ __name__: "m", batch, i: String(i) }).map(([name, value]) => ({
        name,
        value,
      })),
      samples: [{ value: 1, timestamp }],
    }));
    const body = new Uint8Array(snappy.compress(encoded(writeRequest1, { timeseries })));
    return { path: "/api/v1/write", headers: protobufType, body };
  },
  (batch, times) => {
    const dataPoints = times.map((ms, i) => ({
      timeUnixNano: nanos(ms),
      asDouble: 1,
      attributes: [...attributesOf(batch), { key: "i", value: { stringValue: String(i) } }],
    }));
    const metrics = [{ name: "g", gauge: { dataPoints } }];
    const body = encoded(otlp.lookupType("MetricsRequest"), {
      resourceMetrics: [{ scopeMetrics: [{ metrics }] }],
    });
    return { path: "/v1/metrics", headers: protobufType, body };
  },
  (batch, times) => ({
    path: "/_bulk",
    headers: { "Content-Type": "application/x-ndjson" },
    body: text(
      lines(
        times.flatMap((ms, i) => [
          { create: { _index: "i", _id: `${batch}-${i}` } },
          { "@timestamp": ms, batch },
        ]),
      ),
    ),
  }),
  (batch, times) => ({
    path: "/services/collector",
    headers: jsonType,
    body: text(lines(times.map((ms) => ({ time: ms / 1000, event: "x", fields: { batch } })))),
  }),
  (batch, times) => {
    const spans = times.map((ms, i) => ({
      traceId: Buffer.alloc(16, batch).toString("hex"),
      id: Buffer.alloc(8, `${i}${batch}`).toString("hex"),
      timestamp: ms * 1000,
      tags: { batch },
    }));
    return { path: "/api/v2/spans", headers: jsonType, body: text(JSON.stringify(spans)) };
  },
  (batch, times) => {
    const spans = times.map((ms, i) =>
      struct(
        [1, "i64", BigInt(i)],
        [2, "i64", Buffer.alloc(8, batch).readBigInt64BE()],
        [3, "i64", BigInt(i + 1)],
        [5, "string", "x"],
        [8, "i64", BigInt(ms) * 1_000n],
        [9, "i64", 1n],
      ),
    );
    const process = struct([1, "string", "cart"], [2, "list", [tag("batch", batch)]]);
    const body = new Uint8Array(struct([1, "struct", process], [2, "list", spans]));
    return { path: "/api/traces", headers: { "Content-Type": "application/x-thrift" }, body };
  },
  (batch, times) => ({
    path: "/api/v2/logs",
    headers: jsonType,
    body: text(JSON.stringify(times.map((timestamp) => ({ message: "x", timestamp, batch })))),
  }),
  (batch, times) => ({
    path: "/upload",
    headers: { "Content-Type": "application/vnd.fdo.journal" },
    body: text(times.map((ms) => `__REALTIME_TIMESTAMP=${ms}000\nMESSAGE=x\nbatch=${batch}\n\n`).join("")),
  }),
  (batch, times) => ({
    path: "/gelf",
    headers: jsonType,
    body: text(lines(times.map((ms) => ({ short_message: "x", timestamp: ms / 1000, _batch: batch })))),
  }),
  (batch, times) => ({
    path: "/write",
    headers: { "Content-Type": "text/plain" },
    body: text(times.map((ms, i) => `line,batch=${batch},i=${i} value=1 ${nanos(ms)}\n`).join("")),
  }),
];

export const protocols = makers.length;

/** Makes the body of a number; equal numbers and times make equal bodies. */
export function makeBody(number: number, firstMs = startMs + number * 10): SentBody {
  const batch = `b${number}`;
  const times = Array.from({ length: rowsPerBody }, (_, i) => firstMs + i);
  return {
    ...makers[number % makers.length]!(batch, times),
    ...{ batch, rows: rowsPerBody, firstMs, isAcknowledged: false },
  };
}

/** Makes a body of logs whose texts, 5 MB together, have no template: a chunk compresses them in blocks. */
export function makeTextBody(random: Random, firstMs = startMs): SentBody {
  const batch = "texts";
  const rows = 200;
  const messages = Array.from({ length: rows }, () => randomText(random));
  const headers = { "Content-Type": "application/x-ndjson" };
  const body = text(lines(messages.map((message, i) => ({ timestamp: firstMs + i, batch, message }))));
  return { path: "/api/v1/ingest/logs", headers, body, rows, batch, firstMs, isAcknowledged: false };
}

/** Sends a body; returns the answer with its text. */
export function sendBody(
  server: Pick<ServerProcess, "url" | "token" | "grpcPort">,
  { path, headers, body }: SentBody,
): Promise<Answer> {
  if (path === exportMethods.logs) return sendMessage(server, body);
  return send(server, "POST", path, { headers, body });
}

/** Exports logs over gRPC. The status is that of the same answer over HTTP. Rejects where the connection is lost. */
async function sendMessage(
  { grpcPort, token }: Pick<ServerProcess, "grpcPort" | "token">,
  message: Uint8Array,
): Promise<Answer> {
  const client = new GrpcClient(grpcPort);
  const { code, message: text } = await client.call(exportMethods.logs, message, { token });
  client.close();
  if (code === undefined) throw new Error("the connection was lost");
  if (code === codes.OK) return { status: 200, text };
  return { status: code === codes.UNAVAILABLE ? 503 : 400, text };
}

/** What finds the rows of all bodies. */
export const bodySelectors = ['logs{batch!=""}', "traces", "m", "g", "line"] as const;

/** Paths of bodies whose rows are not logs. */
const signals: Readonly<Record<string, Signal>> = {
  "/v1/traces": "traces",
  "/api/v2/spans": "traces",
  "/api/traces": "traces",
  "/v1/metrics": "metrics",
  "/api/v1/write": "metrics",
  "/write": "metrics",
};

export function signalOf({ path }: SentBody): Signal {
  return signals[path] ?? "logs";
}

/** By batch: the rows that are found, over all signals. */
export async function countRows(server: Pick<ServerProcess, "url" | "token">): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const selector of bodySelectors) {
    const found = await countsOf(server, `count(${selector}) by (batch)`);
    for (const [batch, count] of found) counts.set(batch, count);
  }
  return counts;
}

/** What is wrong with the rows: an acknowledged batch that is not whole, or any that is torn or doubled. */
export function findRowFaults(bodies: readonly SentBody[], counts: ReadonlyMap<string, number>): string[] {
  const wrong = bodies.filter(({ batch, rows, isAcknowledged }) => {
    const count = counts.get(batch) ?? 0;
    return count !== rows && (isAcknowledged || count !== 0);
  });
  return wrong.map(({ batch, rows, path }) => `${path} ${batch}: ${counts.get(batch) ?? 0} of ${rows} rows`);
}
