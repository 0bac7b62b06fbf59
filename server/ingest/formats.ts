/** The table of body formats: which function reads each, and into which sink. */

import assert from "node:assert";
import type { RowSignal } from "../../engine/index.ts";
import { Refusal } from "../throttle/refusal.ts";
import { readDatadogLogs, readDatadogText } from "./datadog/decode.ts";
import type { BodyFormat, BodyTask } from "./decode-task.ts";
import { readBulk, readSingleDocument } from "./elasticsearch/decode.ts";
import { readForward } from "./fluent/decode.ts";
import { readGelf, readGelfMessages } from "./gelf/decode.ts";
import { readInfluxLines } from "./influx/decode.ts";
import { readJaegerBatch } from "./jaeger/decode.ts";
import { readJournalExport } from "./journald/decode.ts";
import { makeJsonReader } from "./json/read-lines.ts";
import { readPushJson, readPushProtobuf } from "./loki/decode.ts";
import { readLogsJson, readLogsProtobuf, readTracesJson, readTracesProtobuf } from "./otlp/decode.ts";
import { readMetricsJson, readMetricsProtobuf } from "./otlp/metrics.ts";
import { readRemoteWrite1, readRemoteWrite2 } from "./prometheus/decode.ts";
import { RowSink, SampleSink, type Sink } from "./row-sink.ts";
import { readSplunkEvents, readSplunkLines } from "./splunk/decode.ts";
import { readSyslog } from "./syslog/frames.ts";
import { readZipkinSpans } from "./zipkin/decode.ts";

/** Reads a whole body. Throws Refusal. */
type ReadBody = (body: Buffer, task: BodyTask) => Sink;

export const formats = {
  "json lines": (body, task) => fillSink(makeSink(task), (sink) => readJsonBody(body, sink, task)),
  "otlp logs": makeRowReader("logs", readLogsProtobuf),
  "otlp logs json": makeRowReader("logs", readLogsJson),
  "otlp traces": makeRowReader("traces", readTracesProtobuf),
  "otlp traces json": makeRowReader("traces", readTracesJson),
  "otlp metrics": makeSampleReader(readMetricsProtobuf),
  "otlp metrics json": makeSampleReader(readMetricsJson),
  loki: makeRowReader("logs", readPushProtobuf),
  "loki json": makeRowReader("logs", readPushJson),
  "elasticsearch bulk": makeRowReader("logs", readBulk),
  "elasticsearch document": makeRowReader("logs", readSingleDocument),
  "splunk events": makeRowReader("logs", readSplunkEvents),
  "splunk lines": makeRowReader("logs", readSplunkLines),
  "fluent forward": makeRowReader("logs", readForward),
  jaeger: makeRowReader("traces", readJaegerBatch),
  zipkin: makeRowReader("traces", readZipkinSpans),
  datadog: makeRowReader("logs", readDatadogLogs),
  "datadog text": makeRowReader("logs", readDatadogText),
  "journal export": makeRowReader("logs", readJournalExport),
  gelf: makeRowReader("logs", readGelf),
  "gelf messages": makeRowReader("logs", readGelfMessages),
  "influx lines": makeSampleReader(readInfluxLines),
  syslog: makeRowReader("logs", readSyslog),
  "remote write 1": makeSampleReader(readRemoteWrite1),
  "remote write 2": makeSampleReader(readRemoteWrite2),
} satisfies Record<BodyFormat, ReadBody>;

function readJsonBody(body: Buffer, sink: RowSink | SampleSink, { pieces, fieldNames }: BodyTask): void {
  const read = makeJsonReader(sink, fieldNames);
  if (pieces === undefined) read(body);
  else for (const piece of pieces) sink.readPiece(piece, () => read(toBuffer(piece.bytes)));
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The sink for the body's signal. */
function makeSink(task: BodyTask): RowSink | SampleSink {
  const { content } = task;
  return content.signal === "metrics"
    ? new SampleSink(task, content.activeSeries)
    : new RowSink(content.signal, task);
}

function makeRowReader(
  signal: RowSignal,
  read: (body: Buffer, sink: RowSink, task: BodyTask) => void,
): ReadBody {
  return (body, task) => fillSink(new RowSink(signal, task), (sink) => read(body, sink, task));
}

function makeSampleReader(read: (body: Buffer, sink: SampleSink, task: BodyTask) => void): ReadBody {
  return (body, task) => {
    assert(task.content.signal === "metrics");
    const sink = new SampleSink(task, task.content.activeSeries);
    return fillSink(sink, () => read(body, sink, task));
  };
}

/** Reads into a sink, whose memory goes to the next body where this one is refused. Throws Refusal. */
function fillSink<S extends Sink>(sink: S, read: (sink: S) => void): S {
  try {
    read(sink);
  } catch (error) {
    // After any other error nobody knows what the memory holds.
    if (error instanceof Refusal) sink.release();
    throw error;
  }
  return sink;
}
