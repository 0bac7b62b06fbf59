/** Decodes OTLP bodies of logs and traces into rows, from protobuf and from JSON. */

import { spanKeySet, spanKeys } from "../json/span-row.ts";
import type { RowSink } from "../row-sink.ts";
import { readJsonBody } from "./json-body.ts";
import { LogRecord } from "./log-record.ts";
import { logRowOf } from "./log-row.ts";
import { SpanRecord } from "./span-record.ts";
import { spanRowOf } from "./span-row.ts";
import { WireBody } from "./wire-body.ts";

const noNames: ReadonlySet<string> = new Set();

export function readLogsProtobuf(body: Buffer, sink: RowSink): void {
  new WireBody(body, sink, (tools) => new LogRecord(tools)).read();
}

export function readLogsJson(body: Buffer, sink: RowSink): void {
  const names = { resources: "resourceLogs", scopes: "scopeLogs", records: "logRecords" };
  readJsonBody(body, sink, names, noNames, logRowOf);
}

export function readTracesProtobuf(body: Buffer, sink: RowSink): void {
  for (const key of spanKeys) sink.builder.addKeyText(key);
  new WireBody(body, sink, (tools) => new SpanRecord(tools)).read();
}

export function readTracesJson(body: Buffer, sink: RowSink): void {
  const names = { resources: "resourceSpans", scopes: "scopeSpans", records: "spans" };
  readJsonBody(body, sink, names, spanKeySet, spanRowOf);
}
