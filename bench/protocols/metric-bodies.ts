/** Bodies of samples that `protocols.ts` sends: a thousand series of one counter, with a sample each. */
import protobuf from "protobufjs";
import snappy from "snappyjs";
import { rowsPerBody, startMs } from "./generated-rows.ts";
import type { Protocol } from "./request-bodies.ts";

const name = "http_requests_total";
const { root } = protobuf.parse(`syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Point {
  fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; repeated KeyValue attributes = 7;
}
message Sum { repeated Point data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Metric { string name = 1; Sum sum = 7; }
message ScopeMetrics { repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Metrics { repeated ResourceMetrics resource_metrics = 1; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
message Series1 { repeated Label labels = 1; repeated Sample samples = 2; }
message Write1 { repeated Series1 timeseries = 1; }
message Metadata { int32 type = 1; }
message Series2 { repeated uint32 labels_refs = 1; repeated Sample samples = 2; Metadata metadata = 5; }
message Write2 { repeated string symbols = 4; repeated Series2 timeseries = 5; }`);

function encode(message: string, fields: object): Uint8Array {
  const type = root.lookupType(message);
  return type.encode(type.fromObject(fields)).finish();
}

/** The labels of a series, its value and its time in a body. */
function makeSamples(body: number) {
  return Array.from({ length: rowsPerBody }, (_, n) => ({
    labels: { instance: `10.1.${n % 10}.7:9090`, job: "catalogue", path: `/p/${n}` },
    value: body * 3 + n,
    timestamp: startMs + body * 1_000,
  }));
}

function makeOtlpMetrics(body: number): Uint8Array {
  const toAttributes = (labels: Record<string, string>) =>
    Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const dataPoints = makeSamples(body).map(({ labels, value, timestamp }) => ({
    startTimeUnixNano: `${startMs - 60_000}000000`,
    timeUnixNano: `${timestamp}000000`,
    asDouble: value,
    attributes: toAttributes(labels),
  }));
  const sum = { dataPoints, aggregationTemporality: 2, isMonotonic: true };
  const resource = { attributes: toAttributes({ "service.name": "/k8s/shop/catalogue" }) };
  return encode("Metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ metrics: [{ name, sum }] }] }] });
}

function makeWrite1(body: number): Uint8Array {
  const timeseries = makeSamples(body).map(({ labels, value, timestamp }) => ({
    labels: Object.entries({ __name__: name, ...labels }).map(([key, text]) => ({ name: key, value: text })),
    samples: [{ value, timestamp }],
  }));
  return snappy.compress(new Uint8Array(encode("Write1", { timeseries })));
}

function makeWrite2(body: number): Uint8Array {
  const numbers = new Map<string, number>([["", 0]]);
  const refOf = (text: string) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
  const timeseries = makeSamples(body).map(({ labels, value, timestamp }) => ({
    labelsRefs: Object.entries({ __name__: name, ...labels })
      .flat()
      .map(refOf),
    samples: [{ value, timestamp }],
    metadata: { type: 1 },
  }));
  return snappy.compress(new Uint8Array(encode("Write2", { symbols: [...numbers.keys()], timeseries })));
}

function makeInfluxLines(body: number): Uint8Array {
  const lines = makeSamples(body).map(({ labels, value, timestamp }) => {
    const tags = Object.entries(labels).map(([key, text]) => `${key}=${text}`);
    return `http_requests,${tags.join(",")} total=${value} ${timestamp}000000\n`;
  });
  return Buffer.from(lines.join(""));
}

const protobufType = "application/x-protobuf";

export const metricProtocols: readonly Protocol[] = [
  {
    name: "OTLP metrics, protobuf (samples)",
    path: "/v1/metrics",
    headers: { "Content-Type": protobufType },
    makeBody: makeOtlpMetrics,
  },
  {
    name: "Influx lines (samples)",
    path: "/write",
    headers: { "Content-Type": "text/plain" },
    makeBody: makeInfluxLines,
  },
  {
    name: "remote write 1.0 (samples)",
    path: "/api/v1/write",
    headers: { "Content-Type": protobufType, "Content-Encoding": "snappy" },
    makeBody: makeWrite1,
  },
  {
    name: "remote write 2.0 (samples)",
    path: "/api/v1/write",
    headers: {
      "Content-Type": `${protobufType};proto=io.prometheus.write.v2.Request`,
      "Content-Encoding": "snappy",
    },
    makeBody: makeWrite2,
  },
];
