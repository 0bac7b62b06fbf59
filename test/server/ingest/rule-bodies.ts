/** Random rows, encoded for each protocol. */

import { Buffer } from "node:buffer";
import type { BodyFormat } from "../../../server/index.ts";
import { writeRequest1, writeRequest2 } from "../../../server/ingest/prometheus/schema.ts";
import { oneOf, type Random } from "../control/random.ts";
import { lines } from "../running.ts";
import { textsOfKey } from "./naive-rules.ts";
import { protobufOf } from "./otlp/otlp-bodies.ts";

export const arrivalMs = 1_763_000_000_123;

export interface SentRow {
  timeMs: number;
  level: string;
  message: string;
  /** Name of the metric. */
  name: string;
  attributes: Record<string, string>;
}

type BodySignal = "logs" | "traces" | "profiles" | "kubernetes_resources" | "metrics";

export interface BodyForm {
  signal: BodySignal;
  format: BodyFormat;
  body(rows: readonly SentRow[]): Buffer;
}

const attributeKeys = Object.keys(textsOfKey).filter(
  (key) => !["message", "log_level", "__name__"].includes(key),
);

/** `n` identifies the row. */
export function randomRow(random: Random, n: number): SentRow {
  const attributes: Record<string, string> = { n: String(n) };
  for (const key of attributeKeys) if (random() < 0.3) attributes[key] = oneOf(textsOfKey[key]!, random);
  return {
    timeMs: arrivalMs - Math.floor(random() * 1_000_000),
    level: oneOf(textsOfKey.log_level!, random),
    message: oneOf(textsOfKey.message!, random),
    name: oneOf(textsOfKey.__name__!, random),
    attributes,
  };
}

const nanos = (ms: number) => `${ms}000000`;
const pairs = (attributes: Record<string, string>) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

function otlpLogs(rows: readonly SentRow[]) {
  const records = rows.map(({ timeMs, level, message, attributes }) => ({
    timeUnixNano: nanos(timeMs),
    severityText: level,
    body: { stringValue: message },
    attributes: pairs(attributes),
  }));
  // The resource has attributes that only some records override.
  const resource = { attributes: pairs({ tier: "gold", "k8s.cluster.name": "edge" }) };
  return { resourceLogs: [{ resource, scopeLogs: [{ logRecords: records }] }] };
}

function otlpTraces(rows: readonly SentRow[]) {
  const spans = rows.map(({ timeMs, message, attributes }, i) => ({
    traceId: "6f3cbf058c2765548a39ad724905d6a1",
    spanId: (i + 1).toString(16).padStart(16, "0"),
    name: message,
    startTimeUnixNano: nanos(timeMs),
    attributes: pairs(attributes),
  }));
  return { resourceSpans: [{ resource: {}, scopeSpans: [{ spans }] }] };
}

const text = (value: unknown) => Buffer.from(JSON.stringify(value));

/** Some rows have nested attributes, which take the general reader. */
function nested(attributes: Record<string, string>) {
  const { tier, ...rest } = attributes;
  return tier === "silver" ? { ...rest, more: { deep: [1] }, tier } : attributes;
}

function jsonLogs(rows: readonly SentRow[]): Buffer {
  return Buffer.from(
    lines(
      rows.map(({ timeMs, level, message, attributes }) => ({
        timestamp: timeMs,
        log_level: level,
        message,
        attributes: nested(attributes),
      })),
    ),
  );
}

function jsonSpans(rows: readonly SentRow[]): Buffer {
  return Buffer.from(
    lines(
      rows.map(({ timeMs, message, attributes }, i) => ({
        traceId: "6f3cbf058c2765548a39ad724905d6a1",
        spanId: (i + 1).toString(16).padStart(16, "0"),
        name: message,
        kind: "server",
        startTimeUnixNano: nanos(timeMs),
        endTimeUnixNano: nanos(timeMs + 5),
        attributes: nested(attributes),
      })),
    ),
  );
}

function jsonBodies(rows: readonly SentRow[]): Buffer {
  return text(
    rows.map(({ timeMs, message, attributes }) => ({ timestamp: timeMs, body: message, attributes })),
  );
}

function jsonMetrics(rows: readonly SentRow[]): Buffer {
  return text(
    rows.map(({ timeMs, name, attributes }) => ({ timestamp: timeMs, name, labels: attributes, value: 1 })),
  );
}

function otlpMetrics(rows: readonly SentRow[]): Buffer {
  const metrics = rows.map(({ timeMs, name, attributes }) => ({
    name,
    gauge: { dataPoints: [{ timeUnixNano: nanos(timeMs), asDouble: 1, attributes: pairs(attributes) }] },
  }));
  return text({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
}

function loki(rows: readonly SentRow[]): Buffer {
  const streams = rows.map(({ timeMs, level, message, attributes }) => ({
    stream: { ...attributes, level },
    values: [[nanos(timeMs), message]],
  }));
  return text({ streams });
}

function bulk(rows: readonly SentRow[]): Buffer {
  return Buffer.from(
    lines(
      rows.flatMap(({ timeMs, level, message, attributes: { name: _, ...attributes } }) => [
        { create: { _index: "shop" } },
        { "@timestamp": timeMs, "log.level": level, message, ...attributes },
      ]),
    ),
  );
}

function syslog(rows: readonly SentRow[]): Buffer {
  const frames = rows.map(({ timeMs, message, attributes: { n, tier = "none" } }) => {
    const head = `<14>1 ${new Date(timeMs).toISOString()} host cart - - [ex n="${n}" tier="${tier}"]`;
    const frame = Buffer.from(`${head} ${message}`);
    return Buffer.concat([Buffer.from(`${frame.length} `), frame]);
  });
  return Buffer.concat(frames);
}

function remoteWrite1(rows: readonly SentRow[]): Buffer {
  const timeseries = rows.map(({ timeMs, name, attributes }) => ({
    labels: Object.entries({ __name__: name, ...attributes }).map(([key, value]) => ({ name: key, value })),
    samples: [{ value: 1, timestamp: timeMs }],
  }));
  return Buffer.from(writeRequest1.encode(writeRequest1.fromObject({ timeseries })).finish());
}

function remoteWrite2(rows: readonly SentRow[]): Buffer {
  const symbols = [""];
  const timeseries = rows.map(({ timeMs, name, attributes }) => ({
    labelsRefs: Object.entries({ __name__: name, ...attributes })
      .flat()
      .map((symbol) => symbols.push(symbol) - 1),
    samples: [{ value: 1, timestamp: timeMs }],
  }));
  return Buffer.from(writeRequest2.encode(writeRequest2.fromObject({ symbols, timeseries })).finish());
}

export const bodyForms: readonly BodyForm[] = [
  { signal: "logs", format: "json lines", body: jsonLogs },
  { signal: "logs", format: "otlp logs", body: (rows) => protobufOf("LogsRequest", otlpLogs(rows)) },
  { signal: "logs", format: "otlp logs json", body: (rows) => text(otlpLogs(rows)) },
  { signal: "logs", format: "loki json", body: loki },
  { signal: "logs", format: "elasticsearch bulk", body: bulk },
  { signal: "logs", format: "syslog", body: syslog },
  { signal: "traces", format: "json lines", body: jsonSpans },
  { signal: "traces", format: "otlp traces", body: (rows) => protobufOf("TraceRequest", otlpTraces(rows)) },
  { signal: "traces", format: "otlp traces json", body: (rows) => text(otlpTraces(rows)) },
  { signal: "profiles", format: "json lines", body: jsonBodies },
  { signal: "kubernetes_resources", format: "json lines", body: jsonBodies },
  { signal: "metrics", format: "json lines", body: jsonMetrics },
  { signal: "metrics", format: "otlp metrics json", body: otlpMetrics },
  { signal: "metrics", format: "remote write 1", body: remoteWrite1 },
  { signal: "metrics", format: "remote write 2", body: remoteWrite2 },
];
