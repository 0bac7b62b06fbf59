/** Valid bodies of every format of ingestion, which tests change. */
import fc from "fast-check";
import type { BodyFormat } from "../../../server/index.ts";
import { pushRequest } from "../../../server/ingest/loki/schema.ts";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { writeRequest1, writeRequest2 } from "../../../server/ingest/prometheus/schema.ts";
import { seed } from "../../durability/campaign.ts";
import { lines } from "../running.ts";
import { jsonOf, logsRequests, protobufOf, type Request, tracesRequests } from "./otlp/otlp-bodies.ts";

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
