/**
 * `node bench/protocols.ts [BODIES] [--only NAME]`: rows/s, and the server's CPU a row, of each protocol over HTTP on loopback with durable
 * acknowledgement, from bodies of 1,000 rows that are encoded beforehand; and the CPU of ClickHouse for the rows of JSON lines.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import protobuf from "protobufjs";
import snappy from "snappyjs";
import { decodeBody } from "../server/index.ts";
import { type Server, startServer } from "./http.ts";
import { readOperands } from "./operands.ts";
import { clickHouseCpuSeconds } from "./protocolpeer.ts";

const rowsPerBody = 1_000;
const warmBodies = 40;
const connections = 8;
const { numbers, texts: flags } = readOperands(
  "node bench/protocols.ts [BODIES] [--only NAME]",
  { BODIES: 240 },
  ["only"],
);
const [bodies] = numbers as [number];
const startMs = Date.now() - 3_600_000;

interface Protocol {
  name: string;
  path: string;
  headers: Record<string, string>;
  body(place: number): Uint8Array;
}

const protobufType = { "Content-Type": "application/x-protobuf" };
const jsonType = { "Content-Type": "application/json" };
const ndjsonType = { "Content-Type": "application/x-ndjson" };

const { root } = protobuf.parse(`syntax = "proto3";
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
message Push { repeated Stream streams = 1; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
message Series { repeated Label labels = 1; repeated Sample samples = 2; }
message Write { repeated Series timeseries = 1; }`);

function encoded(message: string, fields: object): Uint8Array {
  const type = root.lookupType(message);
  return type.encode(type.fromObject(fields)).finish();
}

function packed(bytes: Uint8Array): Uint8Array {
  return snappy.compress(new Uint8Array(bytes));
}

const texts = [
  (n: number) => `GET /api/v1/products/${n % 9973} HTTP/1.1 200 ${n % 900} ms upstream 10.2.3.${n % 250}`,
  (n: number) => `order ${n} placed by user ${n % 7919} in ${n % 400} ms`,
  (n: number) => `connection to payment-${n % 12} refused after ${n % 5} retries`,
  (n: number) => `cache miss for key session:${n % 100_003} ttl=${n % 3600}`,
];
const severities = ["INFO", "WARN", "ERROR", "DEBUG"];

const resource: Record<string, string> = {
  "service.name": "/k8s/shop/catalogue",
  "k8s.namespace.name": "shop",
  "k8s.deployment.name": "catalogue",
  "k8s.pod.name": "catalogue-7d9f-abcde",
  "k8s.node.name": "node-3",
  "k8s.container.name": "app",
  "host.name": "node-3",
  "telemetry.sdk.language": "nodejs",
};

function rowOf(n: number) {
  const id = Buffer.alloc(16, 1);
  id.writeUInt32BE(Math.imul(n, 2_654_435_761) >>> 0, 0);
  id.writeUInt32BE(n, 8);
  return {
    nanos: `${startMs + n}000000`,
    ms: startMs + n,
    severity: severities[n % 4]!,
    message: texts[n % 4]!(n),
    traceId: id,
    spanId: id.subarray(4, 12),
    attributes: {
      "http.request.method": "GET",
      "http.route": "/api/v1/products/{id}",
      "http.response.status_code": String(200 + (n % 3) * 100),
      "client.address": `10.2.${n % 16}.${n % 200}`,
      "thread.name": `worker-${n % 8}`,
      "code.namespace": "shop.catalogue.Service",
    } as Record<string, string>,
  };
}

type Row = ReturnType<typeof rowOf>;

function rowsOf(place: number): Row[] {
  return Array.from({ length: rowsPerBody }, (_, i) => rowOf(place * rowsPerBody + i));
}

function pairs(attributes: Record<string, string>) {
  return Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

function otlpLogs(place: number, idOf: (id: Buffer) => unknown) {
  const logRecords = rowsOf(place).map((row) => ({
    timeUnixNano: row.nanos,
    observedTimeUnixNano: row.nanos,
    severityNumber: 9,
    severityText: row.severity,
    body: { stringValue: row.message },
    attributes: pairs(row.attributes),
    traceId: idOf(row.traceId),
    spanId: idOf(row.spanId),
  }));
  const scopeLogs = [{ scope: { name: "winston", version: "3.1" }, logRecords }];
  return { resourceLogs: [{ resource: { attributes: pairs(resource) }, scopeLogs }] };
}

function otlpSpans(place: number) {
  const spans = rowsOf(place).map((row) => ({
    traceId: row.traceId,
    spanId: row.spanId,
    parentSpanId: row.spanId,
    name: "GET /api/v1/products/{id}",
    kind: 2,
    startTimeUnixNano: row.nanos,
    endTimeUnixNano: `${row.ms + 3}250000`,
    attributes: pairs(row.attributes),
  }));
  const scopeSpans = [{ scope: { name: "http" }, spans }];
  return { resourceSpans: [{ resource: { attributes: pairs(resource) }, scopeSpans }] };
}

function lines(values: readonly unknown[]): Uint8Array {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

const labels =
  '{namespace="shop", app="catalogue", pod="catalogue-7d9f-abcde", node="node-3", container="app"}';

const protocols: readonly Protocol[] = [
  {
    name: "JSON lines",
    path: "/api/v1/ingest/logs",
    headers: ndjsonType,
    body: (place) =>
      lines(
        rowsOf(place).map((row) => ({
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
    body: (place) =>
      encoded(
        "Logs",
        otlpLogs(place, (id) => id),
      ),
  },
  {
    name: "OTLP logs, JSON",
    path: "/v1/logs",
    headers: jsonType,
    body: (place) => Buffer.from(JSON.stringify(otlpLogs(place, (id) => id.toString("hex")))),
  },
  {
    name: "OTLP traces, protobuf",
    path: "/v1/traces",
    headers: protobufType,
    body: (place) => encoded("Traces", otlpSpans(place)),
  },
  {
    name: "Loki push, protobuf",
    path: "/loki/api/v1/push",
    headers: protobufType,
    body: (place) => {
      const entries = rowsOf(place).map(({ ms, message }) => ({
        timestamp: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
        line: message,
      }));
      return packed(encoded("Push", { streams: [{ labels, entries }] }));
    },
  },
  {
    name: "Elasticsearch bulk",
    path: "/_bulk",
    headers: ndjsonType,
    body: (place) =>
      lines(
        rowsOf(place).flatMap((row) => [
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
    name: "remote write 1.0 (samples)",
    path: "/api/v1/write",
    headers: { ...protobufType, "Content-Encoding": "snappy" },
    body: (place) => {
      const timeseries = Array.from({ length: rowsPerBody }, (_, n) => ({
        labels: Object.entries({
          __name__: "http_requests_total",
          instance: `10.1.${n % 10}.7:9090`,
          job: "catalogue",
          path: `/p/${n}`,
        }).map(([name, value]) => ({ name, value })),
        samples: [{ value: place * 3 + n, timestamp: startMs + place * 1_000 }],
      }));
      return packed(encoded("Write", { timeseries }));
    },
  },
];

const agent = new Agent({ keepAlive: true, maxSockets: connections });

function send({ url, token }: Server, { path, headers }: Protocol, body: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { agent, method: "POST" }, (answer) => {
      answer.resume();
      answer.on("end", () => {
        const { statusCode = 0 } = answer;
        if (statusCode >= 300) reject(new Error(`${path} answered ${statusCode}`));
        else resolve();
      });
    });
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
    sent.setHeader("Authorization", `Bearer ${token}`);
    sent.on("error", reject);
    sent.end(body);
  });
}

async function measure(server: Server, protocol: Protocol): Promise<void> {
  const all = Array.from({ length: warmBodies + bodies }, (_, place) => protocol.body(place));
  const bytes = all.reduce((sum, { length }) => sum + length, 0) / all.length / rowsPerBody;
  let next = 0;
  const sendUpTo = async (end: number): Promise<void> => {
    while (next < end) await send(server, protocol, all[next++]!);
  };
  const sendAll = (end: number) => Promise.all(Array.from({ length: connections }, () => sendUpTo(end)));
  await sendAll(warmBodies);
  const cpuBefore = (await server.cpuMs()) ?? Number.NaN;
  const beforeMs = performance.now();
  await sendAll(all.length);
  const seconds = (performance.now() - beforeMs) / 1000;
  const rows = bodies * rowsPerBody;
  const cpu = ((((await server.cpuMs()) ?? Number.NaN) - cpuBefore) / rows) * 1000;
  const rate = Math.round(rows / seconds).toLocaleString("en");
  process.stdout.write(
    `${protocol.name.padEnd(28)}${rate.padStart(9)} rows/s ${cpu.toFixed(2).padStart(6)} µs CPU/row ${bytes.toFixed(0).padStart(5)} B/row\n`,
  );
}

/** What reading alone costs, by protobufjs and by the server's own reader, which makes the batch for the store, too. */
function measureReading(): void {
  const body = encoded(
    "Logs",
    otlpLogs(0, (id) => id),
  );
  const type = root.lookupType("Logs");
  const own = () =>
    decodeBody({
      what: { signal: "logs" },
      format: "otlp logs",
      body: new Uint8Array(body),
      encoding: "identity",
      unpackedBytesMax: 1 << 30,
      arrivalMs: Date.now(),
      sender: "",
      wantsContentKey: true,
      flattensJson: false,
      families: { version: 0, json: new Uint8Array(new SharedArrayBuffer(2)) },
      index: "",
    });
  for (const [name, read] of [
    ["protobufjs, decoding alone", () => type.decode(body)],
    ["decodeBody, to the batch", own],
  ] as const) {
    for (let i = 0; i < 100; i++) read();
    const before = process.cpuUsage();
    for (let i = 0; i < 200; i++) read();
    const { user, system } = process.cpuUsage(before);
    const micros = (user + system) / 200 / rowsPerBody;
    process.stdout.write(`${name.padEnd(28)}${micros.toFixed(2).padStart(23)} µs CPU/row\n`);
  }
}

/** The same rows as those of JSON lines, as many as each protocol sends. */
async function measurePeer(): Promise<void> {
  const { body } = protocols.find(({ name }) => name === "JSON lines")!;
  const all = Array.from({ length: warmBodies + bodies }, (_, place) => body(place));
  const rows = all.length * rowsPerBody;
  const seconds = await clickHouseCpuSeconds({ bodies: all, rows, startMs, endMs: startMs + rows - 1 });
  const micros = ((seconds / rows) * 1e6).toFixed(2).padStart(23);
  process.stdout.write(`${"ClickHouse, JSONEachRow".padEnd(28)}${micros} µs CPU/row\n`);
}

measureReading();
const dir = mkdtempSync(join(tmpdir(), "svc-protocols-"));
const server = await startServer(dir, join(import.meta.dirname, ".."));
try {
  for (const protocol of protocols.filter(({ name }) => name.includes(flags.only ?? ""))) {
    await measure(server, protocol);
  }
} finally {
  agent.destroy();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
await measurePeer();
