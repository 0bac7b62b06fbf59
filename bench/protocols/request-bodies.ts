/** The protocols that `protocols.ts` measures, and bodies of a thousand generated rows in each. */
import { encode as encodeMessagePack } from "@msgpack/msgpack";
import protobuf from "protobufjs";
import snappy from "snappyjs";
import { struct, tag } from "../../fixtures/thrift.ts";
import { makeRows, type Row, resource } from "./generated-rows.ts";

export interface Protocol {
  name: string;
  /** Over gRPC that of the method; "" over a socket. */
  path: string;
  /** HTTP where it is absent. `fluent` and `syslog`: over sockets of their own. */
  over?: "grpc" | "fluent" | "syslog";
  headers: Record<string, string>;
  /** The body with that number, from 0. */
  makeBody(body: number): Uint8Array;
}

const protobufType = { "Content-Type": "application/x-protobuf" };
const jsonType = { "Content-Type": "application/json" };
const ndjsonType = { "Content-Type": "application/x-ndjson" };

export const { root } = protobuf.parse(`syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; int64 int_value = 3; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message LogRecord {
  fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3; AnyValue body = 5;
  repeated KeyValue attributes = 6; bytes trace_id = 9; bytes span_id = 10; fixed64 observed_time_unix_nano = 11;
}
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message Scope { string name = 1; string version = 2; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message Logs { repeated ResourceLogs resource_logs = 1; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Traces { repeated ResourceSpans resource_spans = 1; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Entry { Timestamp timestamp = 1; string line = 2; }
message Stream { string labels = 1; repeated Entry entries = 2; }
message Push { repeated Stream streams = 1; }`);

export function encode(message: string, fields: object): Uint8Array {
  const type = root.lookupType(message);
  return type.encode(type.fromObject(fields)).finish();
}

function compress(bytes: Uint8Array): Uint8Array {
  return snappy.compress(new Uint8Array(bytes));
}

function toKeyValues(attributes: Record<string, string>) {
  return Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

export function makeOtlpLogs(body: number, idOf: (id: Buffer) => unknown) {
  const logRecords = makeRows(body).map((row) => ({
    timeUnixNano: row.nanos,
    observedTimeUnixNano: row.nanos,
    severityNumber: 9,
    severityText: row.severity,
    body: { stringValue: row.message },
    attributes: toKeyValues(row.attributes),
    traceId: idOf(row.traceId),
    spanId: idOf(row.spanId),
  }));
  const scopeLogs = [{ scope: { name: "winston", version: "3.1" }, logRecords }];
  return { resourceLogs: [{ resource: { attributes: toKeyValues(resource) }, scopeLogs }] };
}

function makeOtlpSpans(body: number) {
  const spans = makeRows(body).map((row) => ({
    traceId: row.traceId,
    spanId: row.spanId,
    parentSpanId: row.spanId,
    name: "GET /api/v1/products/{id}",
    kind: 2,
    startTimeUnixNano: row.nanos,
    endTimeUnixNano: `${row.ms + 3}250000`,
    attributes: toKeyValues(row.attributes),
  }));
  const scopeSpans = [{ scope: { name: "http" }, spans }];
  return { resourceSpans: [{ resource: { attributes: toKeyValues(resource) }, scopeSpans }] };
}

function toJsonLines(values: readonly unknown[]): Uint8Array {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

/** What all forms of JSON logs have in common. */
function plainFields({ message, severity, attributes }: Row) {
  return { message, level: severity, ...attributes, ...resource };
}

const labels =
  '{namespace="shop", app="catalogue", pod="catalogue-7d9f-abcde", node="node-3", container="app"}';

function makeJaegerBatch(body: number): Uint8Array {
  const spans = makeRows(body).map((row) =>
    struct(
      [1, "i64", row.traceId.readBigUInt64BE(8)],
      [2, "i64", row.traceId.readBigUInt64BE(0)],
      [3, "i64", row.spanId.readBigUInt64BE(0)],
      [4, "i64", 0n],
      [5, "string", "GET /api/v1/products/{id}"],
      [7, "i32", 1],
      [8, "i64", BigInt(row.ms) * 1_000n],
      [9, "i64", 3_250n],
      [10, "list", Object.entries(row.attributes).map(([key, value]) => tag(key, value))],
    ),
  );
  const tags = Object.entries(resource).map(([key, value]) => tag(key, value));
  const process = struct([1, "string", "catalogue"], [2, "list", tags]);
  return struct([1, "struct", process], [2, "list", spans]);
}

/** A message whose receipt is acknowledged, as Fluentd and Fluent Bit send it. */
function makeFluentMessage(body: number): Uint8Array {
  const entries = makeRows(body).map((row) => [row.ms / 1_000, plainFields(row)]);
  return encodeMessagePack(["kube.catalogue", entries, { chunk: `chunk ${body}`, size: entries.length }]);
}

export const protocols: readonly Protocol[] = [
  {
    name: "JSON lines",
    path: "/api/v1/ingest/logs",
    headers: ndjsonType,
    makeBody: (body) =>
      toJsonLines(
        makeRows(body).map((row) => ({
          timeUnixNano: row.nanos,
          log_level: row.severity,
          message: row.message,
          attributes: {
            ...row.attributes,
            ...resource,
            trace_id: row.traceId.toString("hex"),
            span_id: row.spanId.toString("hex"),
          },
        })),
      ),
  },
  {
    name: "OTLP logs, protobuf",
    path: "/v1/logs",
    headers: protobufType,
    makeBody: (body) =>
      encode(
        "Logs",
        makeOtlpLogs(body, (id) => id),
      ),
  },
  {
    name: "OTLP logs, gRPC",
    path: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    over: "grpc",
    headers: {},
    // Other rows than over HTTP, whose bodies the server would recognise.
    makeBody: (body) =>
      encode(
        "Logs",
        makeOtlpLogs(body + 2_000, (id) => id),
      ),
  },
  {
    name: "OTLP logs, JSON",
    path: "/v1/logs",
    headers: jsonType,
    makeBody: (body) => Buffer.from(JSON.stringify(makeOtlpLogs(body, (id) => id.toString("hex")))),
  },
  {
    name: "OTLP traces, protobuf",
    path: "/v1/traces",
    headers: protobufType,
    makeBody: (body) => encode("Traces", makeOtlpSpans(body)),
  },
  {
    name: "Loki push, protobuf",
    path: "/loki/api/v1/push",
    headers: protobufType,
    makeBody: (body) => {
      const entries = makeRows(body).map(({ ms, message }) => ({
        timestamp: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
        line: message,
      }));
      return compress(encode("Push", { streams: [{ labels, entries }] }));
    },
  },
  {
    name: "Elasticsearch bulk",
    path: "/_bulk",
    headers: ndjsonType,
    makeBody: (body) =>
      toJsonLines(
        makeRows(body).flatMap((row) => [
          { create: { _index: "logs" } },
          {
            "@timestamp": new Date(row.ms).toISOString(),
            message: row.message,
            log: { level: row.severity },
            ...row.attributes,
            ...resource,
          },
        ]),
      ),
  },
  {
    name: "Elasticsearch bulk with ids",
    path: "/_bulk",
    headers: ndjsonType,
    makeBody: (body) =>
      toJsonLines(
        makeRows(body).flatMap((row) => [
          { create: { _index: "logs", _id: row.traceId.toString("hex") } },
          { "@timestamp": new Date(row.ms).toISOString(), ...plainFields(row) },
        ]),
      ),
  },
  {
    name: "Splunk events",
    path: "/services/collector",
    headers: jsonType,
    makeBody: (body) =>
      toJsonLines(
        makeRows(body).map(({ ms, message, severity, attributes }) => ({
          time: ms / 1000,
          host: resource["host.name"],
          event: message,
          fields: { ...attributes, ...resource, severity },
        })),
      ),
  },
  {
    name: "Zipkin spans",
    path: "/api/v2/spans",
    headers: jsonType,
    makeBody: (body) =>
      Buffer.from(
        JSON.stringify(
          makeRows(body).map((row) => ({
            traceId: row.traceId.toString("hex"),
            id: row.spanId.toString("hex"),
            parentId: row.spanId.toString("hex"),
            name: "GET /api/v1/products/{id}",
            kind: "SERVER",
            timestamp: row.ms * 1000,
            duration: 3_250,
            localEndpoint: { serviceName: "catalogue" },
            tags: { ...row.attributes, ...resource },
          })),
        ),
      ),
  },
  {
    name: "Jaeger spans, Thrift",
    path: "/api/traces",
    headers: { "Content-Type": "application/x-thrift" },
    makeBody: makeJaegerBatch,
  },
  {
    name: "Fluent forward",
    over: "fluent",
    path: "",
    headers: {},
    makeBody: makeFluentMessage,
  },
  {
    name: "syslog, TCP",
    over: "syslog",
    path: "",
    headers: {},
    makeBody: (body) =>
      Buffer.from(
        makeRows(body)
          .map(
            ({ ms, message }) =>
              `<142>1 ${new Date(ms).toISOString()} node-3 catalogue 17 - [shop@1 pod="catalogue-7d9f-abcde"] ${message}\n`,
          )
          .join(""),
      ),
  },
  {
    name: "Datadog logs",
    path: "/api/v2/logs",
    headers: jsonType,
    makeBody: (body) =>
      Buffer.from(
        JSON.stringify(
          makeRows(body).map((row) => ({
            ...plainFields(row),
            timestamp: row.ms,
            ddtags: "env:prod,kube_namespace:shop,pod_name:catalogue-7d9f-abcde",
          })),
        ),
      ),
  },
  {
    name: "journald upload",
    path: "/upload",
    headers: { "Content-Type": "application/vnd.fdo.journal" },
    makeBody: (body) =>
      Buffer.from(
        makeRows(body)
          .map(
            ({ ms, message }) =>
              `__REALTIME_TIMESTAMP=${ms}000\n_HOSTNAME=node-3\nPRIORITY=6\nSYSLOG_IDENTIFIER=catalogue\n_PID=17\n_SYSTEMD_UNIT=catalogue.service\nMESSAGE=${message}\n\n`,
          )
          .join(""),
      ),
  },
  {
    name: "GELF",
    path: "/gelf",
    headers: jsonType,
    makeBody: (body) =>
      toJsonLines(
        makeRows(body).map(({ ms, message, attributes }) => ({
          version: "1.1",
          host: "node-3",
          short_message: message,
          timestamp: ms / 1000,
          level: 6,
          ...Object.fromEntries(Object.entries(attributes).map(([key, value]) => [`_${key}`, value])),
        })),
      ),
  },
];
