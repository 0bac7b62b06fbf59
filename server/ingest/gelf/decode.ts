/** Decodes messages of Graylog's format GELF (https://go2docs.graylog.org/current/getting_in_log_data/gelf.html). */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { unpack } from "../../api/content-encoding.ts";
import { Refusal } from "../../throttle/refusal.ts";
import {
  flattenFields,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  type OnNumber,
  RowProblem,
  readJsonRow,
  textOf,
} from "../json/json-row.ts";
import { readJsonObjects } from "../json/read-objects.ts";
import { gelfMessageBytesMax } from "../limits.ts";
import { readTime, timeExpected } from "../loggers/log-time.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { SyslogFrames } from "../syslog/frames.ts";
import { severityText } from "../syslog/severity.ts";

/** Fields that are no attributes by their own name. */
const fields: ReadonlySet<string> = new Set(["version", "host", "short_message", "timestamp", "level"]);

export function readGelf(body: Buffer, sink: RowSink): void {
  readJsonObjects(body, sink, (json, onNumber) => readMessage(json, onNumber, sink));
}

/** Reads a body of messages, each with its length before it, and packed or not, as they came over TCP or UDP. */
export function readGelfMessages(body: Buffer, sink: RowSink): void {
  sink.isSentOnce = false;
  for (const message of new SyslogFrames().push(body)) {
    sink.refuseOnProblem(() => {
      const text = unpackMessage(message);
      sink.addText(readJsonRow(text, (json, onNumber) => readMessage(json, onNumber, sink)));
    });
  }
}

/** The text of a message. It is packed if it begins as gzip or zlib do. Throws RowProblem. */
function unpackMessage(message: Buffer): string {
  const isGzip = message[0] === 0x1f && message[1] === 0x8b;
  const encoding = isGzip ? "gzip" : message[0] === 0x78 ? "deflate" : "identity";
  try {
    const bytes = unpack(message, encoding, gelfMessageBytesMax);
    if (isUtf8(bytes)) return Buffer.from(bytes).toString("utf8");
  } catch (error) {
    throw error instanceof Refusal ? new RowProblem("encoding", error.message) : error;
  }
  throw new RowProblem("encoding", "not valid UTF-8");
}

/** Throws RowProblem. */
function readMessage(json: JsonFields, onNumber: OnNumber, sink: RowSink): LogRow {
  const message = textOf(json.short_message, onNumber);
  if (message === null) throw makeFieldProblem("short_message", "a text", json.short_message);
  const attributes: Record<string, string> = Object.create(null);
  const sent = flattenFields(json, fields, onNumber);
  // The sender's own fields begin with an underscore.
  for (const key in sent) attributes[key.replace(/^_(?=.)/, "")] ??= sent[key]!;
  const host = textOf(json.host, onNumber);
  if (host !== null && host !== "") attributes["host.name"] = host;
  const name = agentServiceName(attributes);
  if (name !== undefined) attributes[serviceKey] = name;
  const level = severityText(textOf(json.level, onNumber) ?? "");
  return { timeNs: timeOf(json.timestamp) ?? sink.arrivalNs(), level, message, attributes };
}

/** Seconds with a fraction; undefined where there is none. Throws RowProblem. */
function timeOf(timestamp: unknown): bigint | undefined {
  if (!isGiven(timestamp)) return undefined;
  const time = typeof timestamp === "object" ? undefined : readTime(timestamp);
  if (time === undefined) throw makeFieldProblem("timestamp", timeExpected, timestamp);
  return time.nanos;
}
