/** The table of body formats: which function reads each, and into which sink. */

import assert from "node:assert";
import type { RowSignal } from "../../engine/index.ts";
import type { BodyFormat, BodyTask } from "./decode-task.ts";
import { readBulk } from "./elasticsearch/decode.ts";
import { readJsonLines } from "./json/read-lines.ts";
import { readPushJson, readPushProtobuf } from "./loki/decode.ts";
import { readLogsJson, readLogsProtobuf, readTracesJson, readTracesProtobuf } from "./otlp/decode.ts";
import { readMetricsJson, readMetricsProtobuf } from "./otlp/metrics.ts";
import { readRemoteWrite1, readRemoteWrite2 } from "./prometheus/decode.ts";
import { RowSink, SampleSink, type Sink } from "./row-sink.ts";
import { readSyslog } from "./syslog/frames.ts";

/** Reads a whole body. Throws Refusal. */
type ReadBody = (body: Buffer, task: BodyTask) => Sink;

export const formats = {
  "json lines": (body, task) => {
    const sink = sinkOf(task);
    readJsonLines(body, sink);
    return sink;
  },
  "otlp logs": rows("logs", readLogsProtobuf),
  "otlp logs json": rows("logs", readLogsJson),
  "otlp traces": rows("traces", readTracesProtobuf),
  "otlp traces json": rows("traces", readTracesJson),
  "otlp metrics": samples(readMetricsProtobuf),
  "otlp metrics json": samples(readMetricsJson),
  loki: rows("logs", readPushProtobuf),
  "loki json": rows("logs", readPushJson),
  "elasticsearch bulk": rows("logs", readBulk),
  syslog: rows("logs", readSyslog),
  "remote write 1": samples(readRemoteWrite1),
  "remote write 2": samples(readRemoteWrite2),
} satisfies Record<BodyFormat, ReadBody>;

/** The sink for the body's signal. */
function sinkOf(task: BodyTask): RowSink | SampleSink {
  const { what } = task;
  return what.signal === "metrics" ? new SampleSink(task, what.census) : new RowSink(what.signal, task);
}

function rows(signal: RowSignal, read: (body: Buffer, sink: RowSink, index: string) => void): ReadBody {
  return (body, task) => {
    const sink = new RowSink(signal, task);
    read(body, sink, task.index);
    return sink;
  };
}

function samples(read: (body: Buffer, sink: SampleSink, task: BodyTask) => void): ReadBody {
  return (body, task) => {
    assert(task.what.signal === "metrics");
    const sink = new SampleSink(task, task.what.census);
    read(body, sink, task);
    return sink;
  };
}
