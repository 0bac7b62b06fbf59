/** Bodies of every protocol that cost a reader far more than their sender. */

import { gzipSync } from "node:zlib";
import snappy from "snappyjs";
import type { Random } from "../../../../fixtures/random.ts";
import { otlp } from "../../../../server/ingest/otlp/schema.ts";
import { writeRequest1, writeRequest2 } from "../../../../server/ingest/prometheus/schema.ts";
import type { Call } from "../../running.ts";
import { pushRequest } from "../loki-schema.ts";

export interface HostileBody extends Call {
  protocol: string;
  name: string;
  path: string;
}

type Bytes = string | Uint8Array;
type Packed = Uint8Array<ArrayBuffer>;

interface Protocol {
  path: string;
  contentType: string;
  /** Puts a JSON value, given as text, where the protocol has attributes of a row. */
  wrap?: (json: string) => string;
  /** Bodies of other kinds. */
  make?: (size: number) => Record<string, Bytes>;
  isSnappy?: boolean;
}

const attribute = (json: string) => `{"key":"a","value":${json}}`;
const otlpOf = (resources: string, scopes: string, records: string, record: (json: string) => string) => {
  return (json: string) => `{"${resources}":[{"${scopes}":[{"${records}":[${record(json)}]}]}]}`;
};
const ids = `"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","startTimeUnixNano":"1"`;
const json = "application/json";
const protobuf = "application/x-protobuf";

const protocols: Record<string, Protocol> = {
  "log lines": {
    path: "/api/v1/ingest/logs",
    contentType: json,
    wrap: (value) => `{"message":"a","attributes":{"a":${value}}}`,
  },
  "span lines": {
    path: "/api/v1/ingest/spans",
    contentType: json,
    wrap: (value) => `{${ids},"attributes":{"a":${value}}}`,
  },
  "metric lines": {
    path: "/api/v1/ingest/metrics",
    contentType: json,
    wrap: (value) => `{"name":"m","value":${value},"labels":{"a":${value}}}`,
  },
  "otlp logs": {
    path: "/v1/logs",
    contentType: json,
    wrap: otlpOf(
      "resourceLogs",
      "scopeLogs",
      "logRecords",
      (value) => `{"attributes":[${attribute(value)}]}`,
    ),
  },
  "otlp traces": {
    path: "/v1/traces",
    contentType: json,
    wrap: otlpOf(
      "resourceSpans",
      "scopeSpans",
      "spans",
      (value) => `{${ids},"attributes":[${attribute(value)}]}`,
    ),
  },
  "otlp metrics": {
    path: "/v1/metrics",
    contentType: json,
    wrap: otlpOf(
      "resourceMetrics",
      "scopeMetrics",
      "metrics",
      (value) =>
        `{"name":"m","gauge":{"dataPoints":[{"asDouble":${value},"attributes":[${attribute(value)}]}]}}`,
    ),
  },
  "otlp metrics protobuf": {
    path: "/v1/metrics",
    contentType: protobuf,
    make: (size) => ({
      "empty messages": Buffer.alloc(size * 2, Buffer.from([0x0a, 0])),
      "many points": encode(otlp.lookupType("MetricsRequest"), {
        resourceMetrics: [
          { scopeMetrics: [{ metrics: [{ name: "m", gauge: { dataPoints: fill(size / 10, {}) } }] }] },
        ],
      }),
    }),
  },
  "otlp logs protobuf": {
    path: "/v1/logs",
    contentType: protobuf,
    make: (size) => ({
      "empty messages": Buffer.alloc(size * 2, Buffer.from([0x0a, 0])),
      groups: groups(size),
    }),
  },
  loki: {
    path: "/loki/api/v1/push",
    contentType: json,
    wrap: (value) =>
      `{"streams":[{"stream":{"a":${value}},"values":[[${value},"a"],["1","a",{"a":${value}}]]}]}`,
  },
  "loki protobuf": {
    path: "/loki/api/v1/push",
    contentType: protobuf,
    isSnappy: true,
    make: (size) => ({
      "empty messages": Buffer.alloc(size * 2, Buffer.from([0x0a, 0])),
      labels: encode(pushRequest, {
        streams: [
          { labels: `{${" ".repeat(size)}a="${'\\"'.repeat(size)}`, entries: fill(10, { line: "a" }) },
        ],
      }),
    }),
  },
  "elasticsearch bulk": {
    path: "/_bulk",
    contentType: "application/x-ndjson",
    wrap: (value) => `{"create":{"a":${value}}}\n{"message":"a","a":${value}}\n`,
  },
  "splunk events": {
    path: "/services/collector",
    contentType: json,
    wrap: (value) => `{"time":${value},"event":{"message":"a","a":${value}},"fields":{"a":${value}}}`,
  },
  zipkin: {
    path: "/api/v2/spans",
    contentType: json,
    wrap: (value) => `{"traceId":"1","id":"1","timestamp":1,"tags":{"a":${value}},"annotations":${value}}`,
  },
  jaeger: {
    path: "/api/traces",
    contentType: "application/x-thrift",
    make: (size) => ({
      "structures within each other": Buffer.alloc(size, Buffer.of(12, 0, 1)),
      "empty spans": Buffer.concat([Buffer.of(15, 0, 2, 12, 0x7f, 0xff, 0xff, 0xff), Buffer.alloc(size)]),
    }),
  },
  datadog: {
    path: "/api/v2/logs",
    contentType: json,
    wrap: (value) => `{"message":"a","timestamp":${value},"a":${value}}`,
    make: (size) => ({
      "many tags": JSON.stringify({ message: "a", ddtags: "a:b,".repeat(size / 8) + "c,".repeat(size / 4) }),
    }),
  },
  gelf: {
    path: "/gelf",
    contentType: json,
    wrap: (value) => `{"short_message":"a","timestamp":${value},"_a":${value}}`,
  },
  "journal export": {
    path: "/upload",
    contentType: "application/vnd.fdo.journal",
    make: (size) => ({
      "empty lines": "\n".repeat(size),
      "one field many times": "A=\n".repeat(size / 3),
      "many fields": Array.from({ length: size / 10 }, (_, i) => `A${i}=b\n`).join(""),
      "a length without end": Buffer.concat([Buffer.from("A\n"), Buffer.alloc(size, 0xff)]),
    }),
  },
  "influx lines": {
    path: "/write",
    contentType: "text/plain",
    make: (size) => ({
      "many tags": `m${Array.from({ length: size / 10 }, (_, i) => `,t${i}=a`).join("")} v=1`,
      "many fields": `m ${Array.from({ length: size / 10 }, (_, i) => `f${i}=1`).join()}`,
      escapes: `m${"\\,".repeat(size / 2)} v=1`,
      "texts without end": 'm v="\n'.repeat(size / 6),
      digits: `m v=${"9".repeat(size)}`,
    }),
  },
  "remote write 1": {
    path: "/api/v1/write",
    contentType: protobuf,
    isSnappy: true,
    make: (size) => ({
      "empty messages": Buffer.alloc(size * 2, Buffer.from([0x0a, 0])),
      "many labels and samples": encode(writeRequest1, {
        timeseries: [
          {
            labels: Array.from({ length: size / 100 }, (_, i) => ({ name: `l${i}`, value: "a" })),
            samples: fill(size / 100, { value: 1, timestamp: 1 }),
          },
        ],
      }),
    }),
  },
  "remote write 2": {
    path: "/api/v1/write",
    contentType: `${protobuf};proto=io.prometheus.write.v2.Request`,
    isSnappy: true,
    make: (size) => ({
      "a label many times": encode(writeRequest2, {
        symbols: ["", "s".repeat(size)],
        timeseries: [{ labelsRefs: fill(size, 1), samples: fill(size / 100, { value: 1, timestamp: 1 }) }],
      }),
      "many buckets": encode(writeRequest2, {
        symbols: ["", "__name__", "m"],
        timeseries: [
          {
            labelsRefs: [1, 2],
            histograms: fill(10, {
              schema: 0,
              positiveSpans: fill(50, { offset: 1_000, length: 1 }),
              positiveCounts: fill(50, 1),
              customValues: fill(size / 10, 1),
            }),
          },
        ],
      }),
    }),
  },
};

/** JSON values that are expensive to parse, to print, to copy or to hold. */
const shapes: Record<string, (size: number) => string> = {
  digits: (size) => "7".repeat(size),
  "digits in a list": (size) => `[${"9".repeat(size)}]`,
  "a fraction": (size) => `0.${"3".repeat(size)}`,
  "an exponent": (size) => `1e${"9".repeat(size)}`,
  "deep lists": (size) => "[".repeat(size / 2) + "]".repeat(size / 2),
  "deep objects": (size) => `${'{"a":'.repeat(size / 6)}1${"}".repeat(size / 6)}`,
  "deep otlp values": (size) =>
    `${'{"arrayValue":{"values":['.repeat(size / 28)}{}${"]}}".repeat(size / 28)}`,
  "empty lists": (size) => `[${"[],".repeat(size / 3)}[]]`,
  "exact numbers": (size) => `[${"1,".repeat(size / 2)}12345678901234567890]`,
  "a long key": (size) => `{"${"k".repeat(size / 2)}":{${members(Math.min(9_000, size / 20))}}}`,
  "many keys": (size) => `{${members(size / 10)}}`,
  "one key many times": (size) => `{${'"a":{"b":1},'.repeat(size / 12)}"a":1}`,
  escapes: (size) => `"${"\\u0000".repeat(size / 6)}"`,
  "no end": (size) => `"${"a".repeat(size)}`,
};

export const protocolNames = Object.keys(protocols);

/** One body for each of some protocols and each shape, about `size` bytes before they are packed; noise is always new. */
export function* listHostileBodies(
  random: Random,
  size: number,
  isWanted: (protocol: string) => boolean = () => true,
): Generator<HostileBody> {
  for (const [protocol, { path, contentType, isSnappy = false }] of Object.entries(protocols)) {
    if (!isWanted(protocol)) continue;
    const noise = Uint8Array.from({ length: 1_000 }, () => random.below(256));
    for (const [shape, body] of [...listPacked(protocol, size), ["noise", pack(noise, isSnappy)] as const]) {
      yield {
        protocol,
        name: `${protocol}, ${shape}`,
        path,
        method: "POST",
        headers: {
          "Content-Type": contentType,
          "Content-Encoding": isSnappy ? "snappy" : "gzip",
          ...(path === "/api/v1/write" ? { "X-Prometheus-Remote-Write-Version": "0.1.0" } : {}),
        },
        body,
      };
    }
  }
}

/** Made once: packing takes longer than sending. */
const packedBodies = new Map<string, [shape: string, body: Packed][]>();

function listPacked(protocol: string, size: number): [shape: string, body: Packed][] {
  const key = `${protocol} ${size}`;
  const { wrap, make, isSnappy = false } = protocols[protocol]!;
  const known = packedBodies.get(key);
  if (known !== undefined) return known;
  const bodies: [string, Bytes][] = make === undefined ? [] : Object.entries(make(size));
  if (wrap !== undefined) {
    for (const [shape, makeValue] of Object.entries(shapes)) bodies.push([shape, wrap(makeValue(size))]);
    const row = wrap('"a"');
    bodies.push(["many rows", `${row}\n`.repeat(size / row.length)], ["a bomb", " ".repeat(size * 20)]);
  }
  const packed = bodies.map(([shape, body]): [string, Packed] => [shape, pack(body, isSnappy)]);
  packedBodies.set(key, packed);
  return packed;
}

function pack(content: Bytes, isSnappy: boolean): Packed {
  const bytes = Buffer.from(content as Uint8Array);
  return new Uint8Array(isSnappy ? Buffer.from(snappy.compress(bytes)) : gzipSync(bytes, { level: 1 }));
}

function members(count: number): string {
  return Array.from({ length: count }, (_, i) => `"${i}":1`).join();
}

/** Groups within each other, an encoding that protobuf gave up. */
function groups(size: number): Uint8Array {
  return Buffer.alloc(size, 0x0b);
}

function fill<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

function encode(type: { encode(message: never): { finish(): Uint8Array } }, message: object): Uint8Array {
  return type.encode(message as never).finish();
}
