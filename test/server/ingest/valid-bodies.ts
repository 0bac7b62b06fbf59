/** Valid bodies of every format of ingestion, which tests change. */
import { gzipSync } from "node:zlib";
import { ExtData, encode } from "@msgpack/msgpack";
import fc from "fast-check";
import type { BodyFormat } from "../../../server/index.ts";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { writeRequest1, writeRequest2 } from "../../../server/ingest/prometheus/schema.ts";
import { seed } from "../../durability/campaign.ts";
import { lines } from "../running.ts";
import { pushRequest } from "./loki-schema.ts";
import { jsonOf, logsRequests, protobufOf, type Request, tracesRequests } from "./otlp/otlp-bodies.ts";
import { jaegerBatch } from "./protocols/jaeger-batch.ts";

export const nowMs = Date.now();
export const value = (text: string) => ({ stringValue: text });
const attributes = [
  { key: "a", value: value("x") },
  { key: "m", value: { kvlistValue: { values: [{ key: "b", value: { doubleValue: 1.5 } }] } } },
];
export const at = `${nowMs}000000`;
const metricsRequest = {
  resourceMetrics: [
    {
      resource: { attributes },
      scopeMetrics: [
        {
          metrics: [
            { name: "g", gauge: { dataPoints: [{ timeUnixNano: at, asDouble: 1, attributes }] } },
            {
              name: "h",
              histogram: {
                aggregationTemporality: 2,
                dataPoints: [{ timeUnixNano: at, bucketCounts: ["1", "2"], explicitBounds: [1], sum: 2 }],
              },
            },
            {
              name: "e",
              exponentialHistogram: {
                dataPoints: [
                  { timeUnixNano: at, scale: 3, positive: { offset: -5, bucketCounts: ["1", "0", "4"] } },
                ],
              },
            },
            { name: "s", summary: { dataPoints: [{ timeUnixNano: at, quantileValues: [{ quantile: 1 }] }] } },
          ],
        },
      ],
    },
  ],
};
const labels = [
  { name: "__name__", value: "m" },
  { name: "a", value: "b" },
];
const histogram = {
  countInt: 3,
  schema: 2,
  positiveSpans: [{ offset: 1, length: 2 }],
  positiveDeltas: [1, 1],
  timestamp: nowMs,
};
export const samples = [{ value: 1.5, timestamp: nowMs }];
const symbols = ["", "__name__", "m", "a", "b"];

export function encoded(type: typeof writeRequest1, request: object): Buffer {
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

export interface ValidBodies {
  signal: "logs" | "traces" | "metrics" | "profiles" | "kubernetes_resources";
  seeds: () => Buffer[];
}

function sampled(arbitrary: fc.Arbitrary<Request>, toBytes: (request: Request) => Buffer): Buffer[] {
  return fc.sample(arbitrary, { seed, numRuns: 12 }).map(toBytes);
}

const push = {
  streams: [
    {
      labels: '{a="b", c="d\\n"}',
      entries: [{ timestamp: { seconds: 1_760_000_000 }, line: "x", structuredMetadata: labels }],
    },
  ],
};
const pushJson = {
  streams: [
    {
      stream: { a: "b" },
      values: [
        [at, "line", { c: "d" }],
        [at, "two"],
      ],
    },
  ],
};
const bulk = lines([
  { create: { _index: "i" } },
  { "@timestamp": nowMs, message: "m", a: { b: [1] } },
  { index: {} },
  {},
]);
const syslog = `<34>1 2026-01-01T00:00:00Z host app 1 ID [a@1 b="c\\"d"] text`;

const eventTime = new ExtData(0, new Uint8Array([0x68, 0, 0, 0, 0, 0, 0, 1]));
const forwarded = [eventTime, { log: "x\n", level: "info", a: { b: [1, 2.5, null] } }];
const packedEntries = Buffer.concat([encode(forwarded), encode(forwarded)]);
const forwardMessages: readonly unknown[] = [
  ["tag", ...forwarded, { chunk: "c" }],
  ["tag", [forwarded, [1_760_000_000, { message: "y" }]], { size: 2 }],
  ["tag", packedEntries, { chunk: "d" }],
  ["tag", gzipSync(packedEntries), { compressed: "gzip" }],
];
const splunkEvents = [
  { time: nowMs / 1000, host: "h", event: "text", fields: { a: "b" } },
  { time: String(nowMs), event: { message: "m", level: "info", a: { b: [1] } } },
];
const zipkinSpan = {
  traceId: "0123456789abcdef",
  id: "0123456789abcdef",
  kind: "SERVER",
  shared: true,
  name: "get",
  timestamp: nowMs * 1000,
  duration: 5,
  localEndpoint: { serviceName: "a", ipv4: "10.0.0.1", port: 80 },
  remoteEndpoint: { serviceName: "b" },
  annotations: [{ timestamp: nowMs * 1000, value: "x" }],
  tags: { a: "b", error: "e" },
};
const datadogLog = {
  message: "m",
  status: "warn",
  timestamp: nowMs,
  ddtags: "env:a,b",
  service: "s",
  n: { a: 1 },
};
const gelfMessage = {
  version: "1.1",
  host: "h",
  short_message: "m",
  timestamp: nowMs / 1000,
  level: 3,
  _a: 1,
};
const journalEntries = `__REALTIME_TIMESTAMP=${nowMs}000\nMESSAGE=m\nPRIORITY=6\nB\n\x03\0\0\0\0\0\0\0a\nb\n\nMESSAGE=n\n\n`;
const influxLines = `cpu,host=a\\ b usage=0.5,n=2i,t="x\\"y",b=true ${nowMs}000000\nmem v=1\n`;

const span = {
  traceId: "0123456789abcdef0123456789abcdef",
  spanId: "0123456789abcdef",
  name: "GET /",
  startTimeUnixNano: at,
  endTimeUnixNano: at,
  attributes: { a: "b" },
};
const rowsOfSignals = {
  logs: {
    timestamp: nowMs,
    log_level: "INFO",
    message: 'm {"a":1}',
    attributes: { a: { b: [1, 2.5, null] } },
  },
  traces: span,
  metrics: { name: "m", value: 1.5, timestamp: nowMs, labels: { a: "b" } },
  profiles: { timestamp: nowMs, type: "cpu", body: "x", attributes: { a: 1 } },
  kubernetes_resources: { timestamp: nowMs, message: "{}", attributes: { "k8s.resource.name": "a" } },
};
const histogramRow = {
  name: "h",
  type: "histogram",
  bounds: [1, 2],
  counts: [1, 2, 3],
  sum: 5,
  timestamp: nowMs,
};

/** JSON lines and an array of the rows of one signal. */
function jsonRows(signal: ValidBodies["signal"]): ValidBodies {
  const row = rowsOfSignals[signal];
  const rows = signal === "metrics" ? [row, histogramRow] : [row, row];
  return { signal, seeds: () => [Buffer.from(lines(rows)), Buffer.from(JSON.stringify(rows))] };
}

/** By name: a format, with its signal where several share the format. */
export const validBodies = {
  "json lines logs": jsonRows("logs"),
  "json lines traces": jsonRows("traces"),
  "json lines metrics": jsonRows("metrics"),
  "json lines profiles": jsonRows("profiles"),
  "json lines kubernetes_resources": jsonRows("kubernetes_resources"),
  "otlp logs": { signal: "logs", seeds: () => sampled(logsRequests, (r) => protobufOf("LogsRequest", r)) },
  "otlp logs json": { signal: "logs", seeds: () => sampled(logsRequests, jsonOf) },
  "otlp traces": {
    signal: "traces",
    seeds: () => sampled(tracesRequests, (r) => protobufOf("TraceRequest", r)),
  },
  "otlp traces json": { signal: "traces", seeds: () => sampled(tracesRequests, jsonOf) },
  "otlp metrics": {
    signal: "metrics",
    seeds: () => [encoded(otlp.lookupType("MetricsRequest"), metricsRequest)],
  },
  "otlp metrics json": { signal: "metrics", seeds: () => [Buffer.from(JSON.stringify(metricsRequest))] },
  loki: { signal: "logs", seeds: () => [encoded(pushRequest, push)] },
  "loki json": { signal: "logs", seeds: () => [Buffer.from(JSON.stringify(pushJson))] },
  "elasticsearch bulk": { signal: "logs", seeds: () => [Buffer.from(bulk)] },
  "elasticsearch document": {
    signal: "logs",
    seeds: () => [Buffer.from(JSON.stringify({ "@timestamp": nowMs, message: "m", a: { b: [1] } }))],
  },
  "splunk events": {
    signal: "logs",
    seeds: () => [
      Buffer.from(splunkEvents.map((each) => JSON.stringify(each)).join("")),
      Buffer.from(JSON.stringify(splunkEvents)),
    ],
  },
  "splunk lines": { signal: "logs", seeds: () => [Buffer.from("2026-01-29T08:42:01Z ERROR a\r\nb\n")] },
  "fluent forward": { signal: "logs", seeds: () => forwardMessages.map((each) => Buffer.from(encode(each))) },
  jaeger: { signal: "traces", seeds: () => [jaegerBatch(BigInt(nowMs) * 1_000n)] },
  zipkin: { signal: "traces", seeds: () => [Buffer.from(JSON.stringify([zipkinSpan, zipkinSpan]))] },
  datadog: { signal: "logs", seeds: () => [Buffer.from(JSON.stringify([datadogLog, { a: "b" }]))] },
  "datadog text": { signal: "logs", seeds: () => [Buffer.from("a line\r\nanother\n")] },
  "journal export": { signal: "logs", seeds: () => [Buffer.from(journalEntries)] },
  gelf: { signal: "logs", seeds: () => [Buffer.from(lines([gelfMessage, gelfMessage]))] },
  "gelf messages": {
    signal: "logs",
    seeds: () => [
      Buffer.concat(
        [Buffer.from(JSON.stringify(gelfMessage)), gzipSync(JSON.stringify(gelfMessage))].flatMap(
          (message) => [Buffer.from(`${message.length} `), message],
        ),
      ),
    ],
  },
  "influx lines": { signal: "metrics", seeds: () => [Buffer.from(influxLines)] },
  "remote write 1": {
    signal: "metrics",
    seeds: () => [encoded(writeRequest1, { timeseries: [{ labels, samples, histograms: [histogram] }] })],
  },
  "remote write 2": {
    signal: "metrics",
    seeds: () => [
      encoded(writeRequest2, {
        symbols,
        timeseries: [{ labelsRefs: [1, 2, 3, 4], samples, histograms: [histogram], metadata: { type: 1 } }],
      }),
    ],
  },
  syslog: { signal: "logs", seeds: () => [Buffer.from(`${Buffer.byteLength(syslog)} ${syslog}<1>a\nb`)] },
} as const satisfies Record<string, ValidBodies>;

export type BodyName = keyof typeof validBodies;

export function formatOf(name: BodyName): BodyFormat {
  return name.startsWith("json lines") ? "json lines" : (name as BodyFormat);
}
