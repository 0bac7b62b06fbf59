/**
 * Decodes messages of Fluent's forward protocol, version 1, into log rows
 * (https://github.com/fluent/fluentd/wiki/Forward-Protocol-Specification-v1).
 */

import type { LogRow } from "../../../engine/index.ts";
import { unpack } from "../../api/content-encoding.ts";
import type { BodyTask } from "../decode-task.ts";
import { flattenFields, type JsonFields, RowProblem, refuseBodyOnProblem } from "../json/json-row.ts";
import { readUntimedFields } from "../loggers/logger-row.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { Extension, MessagePackReader } from "./message-pack.ts";

/** The attribute that holds a record's tag. */
const tagKey = "fluent.tag";
const eventTimeType = 0;
const eventTimeBytes = 8;
const second = 1_000_000_000n;
/** Characters of a chunk's id. Fluentd's have 24. */
const chunkLengthMax = 1_024;
const noFields: ReadonlySet<string> = new Set();
const acceptNumber = () => undefined;

/** What follows the entries of a message. */
interface MessageOptions {
  /** Asks for an acknowledgement of this text. */
  chunk?: unknown;
  compressed?: unknown;
  /** Fluent Bit: what the entries are, 0 for logs. */
  fluent_signal?: unknown;
}

/** Reads messages one after the other. The answer is the JSON array of the chunks that are to be acknowledged. */
export function readForward(body: Buffer, sink: RowSink, task: BodyTask): void {
  const reader = new MessagePackReader(body);
  const chunks: string[] = [];
  let messages = 0;
  while (!reader.isAtEnd) {
    const { chunk } = refuseBodyOnProblem(() => readMessage(reader, sink, task), `message ${++messages}: `);
    if (typeof chunk === "string") chunks.push(chunk);
  }
  // A chunk has an id of its own, and is sent again until it is acknowledged.
  sink.isSentOnce = chunks.length === messages;
  sink.answer = JSON.stringify(chunks);
}

/** Throws RowProblem where the message is malformed, Refusal where it unpacks to too much. */
function readMessage(reader: MessagePackReader, sink: RowSink, task: BodyTask): MessageOptions {
  const elements = reader.readArrayLength("a message");
  if (elements < 2 || elements > 4)
    throw new RowProblem("json", `a message must have 2 to 4 elements, got ${elements}`);
  const tag = reader.readBytes("the tag").toString("utf8");
  const { kind } = reader;
  if (kind === "array") {
    const entries = reader.readArrayLength("the entries");
    for (let i = 0; i < entries; i++) readEntry(reader, tag, sink);
    return readOptions(reader, elements - 2);
  }
  if (kind !== "bytes" && kind !== "text") return readSingleRecord(reader, elements, tag, sink);
  const packed = reader.readBytes("the entries");
  const options = readOptions(reader, elements - 2);
  readPackedEntries(packed, options, tag, sink, task);
  return options;
}

function readSingleRecord(
  reader: MessagePackReader,
  elements: number,
  tag: string,
  sink: RowSink,
): MessageOptions {
  if (elements < 3) throw new RowProblem("json", "a message with a time must have a record");
  addRecord(reader, tag, sink);
  return readOptions(reader, elements - 3);
}

function readPackedEntries(
  packed: Buffer,
  { compressed, fluent_signal: signal = 0 }: MessageOptions,
  tag: string,
  sink: RowSink,
  task: BodyTask,
): void {
  if (signal !== 0) {
    sink.refuseRow(
      new RowProblem("field", "only logs are taken by this protocol; OTLP takes metrics and spans"),
    );
    return;
  }
  const reader = new MessagePackReader(unpackEntries(packed, compressed, sink, task));
  while (!reader.isAtEnd) readEntry(reader, tag, sink);
}

function unpackEntries(packed: Buffer, compressed: unknown, sink: RowSink, task: BodyTask): Buffer {
  if (compressed === undefined || compressed === "text") return packed;
  if (compressed !== "gzip" && compressed !== "zstd")
    throw new RowProblem("field", "compressed must be text, gzip or zstd");
  const bytes = unpack(packed, compressed, Math.max(0, task.unpackedBytesMax - sink.innerBytes));
  sink.innerBytes += bytes.length;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function readEntry(reader: MessagePackReader, tag: string, sink: RowSink): void {
  const elements = reader.readArrayLength("an entry");
  if (elements !== 2)
    throw new RowProblem("json", `an entry must be a time and a record, got ${elements} elements`);
  addRecord(reader, tag, sink);
}

/** Reads the time and the record that follow. Of a record that cannot be stored the reader moves past the end. */
function addRecord(reader: MessagePackReader, tag: string, sink: RowSink): void {
  const { at } = reader;
  try {
    const time = readTime(reader);
    sink.addText(makeRow(time, reader.readValue(), tag, sink));
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    reader.at = at;
    reader.skipValue();
    reader.skipValue();
    sink.refuseRow(problem);
  }
}

interface EntryTime {
  time: unknown;
  /** Fluent Bit has metadata beside the time. */
  metadata?: unknown;
}

function readTime(reader: MessagePackReader): EntryTime {
  if (reader.kind !== "array") return { time: reader.readValue() };
  const elements = reader.readArrayLength("a time with metadata");
  if (elements !== 2) throw new RowProblem("json", "a time that is an array must have metadata after it");
  return { time: reader.readValue(), metadata: reader.readValue() };
}

/** Throws RowProblem. */
function makeRow({ time, metadata }: EntryTime, record: unknown, tag: string, sink: RowSink): LogRow {
  if (!isMap(record)) throw new RowProblem("field", "a record must be a map");
  const row = readUntimedFields(record, {}, acceptNumber);
  const { attributes } = row;
  if (isMap(metadata)) {
    const flat = flattenFields(metadata, noFields, acceptNumber);
    for (const key in flat) attributes[key] ??= flat[key]!;
  }
  if (tag !== "") attributes[tagKey] = tag;
  const name = agentServiceName(attributes);
  if (name !== undefined) attributes[serviceKey] = name;
  return { ...row, timeNs: toNanos(time) ?? sink.arrivalNs() };
}

/** Seconds, or seconds and nanoseconds in eight bytes; undefined for 0. Throws RowProblem. */
function toNanos(time: unknown): bigint | undefined {
  const micros = typeof time === "number" ? Math.round(time * 1e6) : Number.NaN;
  if (Number.isFinite(micros) && micros >= 0) return time === 0 ? undefined : BigInt(micros) * 1_000n;
  if (time instanceof Extension && time.type === eventTimeType && time.content.length === eventTimeBytes)
    return BigInt(time.content.readUInt32BE(0)) * second + BigInt(time.content.readUInt32BE(4));
  throw new RowProblem("field", "the time must be seconds, or an EventTime of 8 bytes");
}

function readOptions(reader: MessagePackReader, elements: number): MessageOptions {
  if (elements > 1) throw new RowProblem("json", "the options must be the last element of a message");
  const options = elements === 1 ? reader.readValue() : null;
  if (options === null) return {};
  if (!isMap(options)) throw new RowProblem("field", "the options must be a map");
  const { chunk } = options as MessageOptions;
  if (typeof chunk === "string" && chunk.length > chunkLengthMax)
    throw new RowProblem("field", `chunk must have at most ${chunkLengthMax} characters`);
  return options;
}

function isMap(value: unknown): value is JsonFields {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.getPrototypeOf(value) === null;
}
