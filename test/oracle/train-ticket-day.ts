/** Reads the raw files of a day of the Train Ticket benchmark (Nezha dataset), which are gzipped JSON lines. */
import { createReadStream, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { TelemetryData } from "../query/series/naive/data.ts";

interface LogLine {
  timeNs: bigint;
  level: string;
  message: string;
  attributes: Record<string, string>;
}

interface SpanLine {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, string>;
}

interface MetricLine {
  ms: number;
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface RawDay {
  logs: LogLine[];
  spans: SpanLine[];
  metrics: MetricLine[];
}

const places = [
  process.env.SVC_TRAIN_TICKET,
  new URL("../../../shared/data/train-ticket/logs.jsonl.gz", import.meta.url).pathname,
];
const logsFile = places.find((place) => place !== undefined && existsSync(place));
const folder = logsFile === undefined ? undefined : dirname(logsFile);
const names = ["logs.jsonl.gz", "spans.jsonl.gz", "metrics.jsonl.gz"];

/** The folder of the three files; undefined where one of them is missing. */
export const dayFolder =
  folder !== undefined && names.every((name) => existsSync(join(folder, name))) ? folder : undefined;

async function readLines<Raw, Line>(file: string, read: (raw: Raw) => Line): Promise<Line[]> {
  const lines: Line[] = [];
  const input = createReadStream(file).pipe(createGunzip());
  for await (const line of createInterface({ input })) {
    // A value may be NaN, which is not JSON.
    lines.push(read(JSON.parse(line.replace(/"value":NaN}$/, '"value":null}')) as Raw));
  }
  return lines;
}

interface RawLog {
  timeUnixNano: string;
  log_level: string;
  message: string;
  attributes: Record<string, string>;
}

interface RawSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string>;
}

interface RawMetric {
  timestamp: number;
  name: string;
  labels: Record<string, string>;
  value: number | null;
}

export async function readDay(from: string): Promise<RawDay> {
  return {
    logs: await readLines(join(from, "logs.jsonl.gz"), (raw: RawLog) => ({
      timeNs: BigInt(raw.timeUnixNano),
      level: raw.log_level,
      message: raw.message,
      attributes: raw.attributes,
    })),
    spans: await readLines(join(from, "spans.jsonl.gz"), (raw: RawSpan) => ({
      traceId: raw.traceId,
      spanId: raw.spanId,
      parentSpanId: raw.parentSpanId,
      name: raw.name,
      startNs: BigInt(raw.startTimeUnixNano),
      endNs: BigInt(raw.endTimeUnixNano),
      attributes: raw.attributes,
    })),
    metrics: await readLines(join(from, "metrics.jsonl.gz"), (raw: RawMetric) => ({
      ms: raw.timestamp,
      name: raw.name,
      labels: raw.labels,
      value: raw.value ?? Number.NaN,
    })),
  };
}

/** The day in the form in which a store and the naive evaluator take it. */
export function dataOf({ logs, spans, metrics }: RawDay): TelemetryData {
  const traces = spans.map(({ traceId, spanId, parentSpanId, name, startNs, endNs, attributes }) => ({
    timeNs: startNs,
    level: "",
    message: "",
    attributes: {
      ...attributes,
      trace_id: traceId,
      span_id: spanId,
      ...(parentSpanId === "" ? {} : { parent_span_id: parentSpanId }),
      name,
      duration_ms: String(Number(endNs - startNs) / 1e6),
    },
  }));
  const samples = metrics.map(({ ms, name, labels, value }, arrival) => ({
    timeNs: BigInt(ms) * 1_000_000n,
    name,
    type: "gauge" as const,
    labels,
    value,
    arrival,
  }));
  return { rows: { logs, traces }, samples };
}
