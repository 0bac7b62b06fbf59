/** Bodies of Loki's push API become log rows: labels of the stream and structured metadata are attributes. */

import { isUtf8 } from "node:buffer";
import { Refusal } from "../../limits/refusal.ts";
import { parseExact } from "../json/exact-json.ts";
import { type JsonFields, RowProblem, wrongField } from "../json/json-row.ts";
import { malformed } from "../protobuf-scanner.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { labelsOf } from "./labels.ts";
import { pushRequest } from "./schema.ts";

type Texts = Record<string, string>;

/** What may hold the level of a row, the first that is there; it stays an attribute, too. */
const levelKeys = ["level", "detected_level", "severity_text", "severity"];

export function readPushJson(body: Buffer, sink: RowSink): void {
  for (const [i, stream] of arrayOf(parsed(body), "streams").entries()) {
    const path = `streams[${i}]`;
    const labels = withServiceName(textsOf((stream as JsonFields | null)?.stream, `${path}.stream`));
    for (const [j, value] of arrayOf(stream, "values", path).entries()) {
      addEntry(sink, labels, () => jsonEntry(value, `${path}.values[${j}]`));
    }
  }
}

interface Entry {
  timeNs: bigint;
  line: string;
  metadata: Texts;
}

export function readPushProtobuf(body: Buffer, sink: RowSink): void {
  for (const { labels: text, entries } of decodedStreams(body)) {
    const labels = withServiceName(whole(() => labelsOf(text)));
    for (const entry of entries) addEntry(sink, labels, () => protobufEntry(entry));
  }
}

interface WireStream {
  labels: string;
  entries: WireEntry[];
}

interface WireEntry {
  timestamp: { seconds: { toString(): string }; nanos: number } | null;
  line: string;
  structuredMetadata: { name: string; value: string }[];
}

function decodedStreams(body: Buffer): WireStream[] {
  try {
    return (pushRequest.decode(body) as unknown as { streams: WireStream[] }).streams;
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

function protobufEntry({ timestamp, line, structuredMetadata }: WireEntry): Entry {
  const seconds = BigInt((timestamp?.seconds ?? 0).toString());
  const metadata: Texts = Object.create(null);
  for (const { name, value } of structuredMetadata) metadata[name] = value;
  return { timeNs: seconds * 1_000_000_000n + BigInt(timestamp?.nanos ?? 0), line, metadata };
}

function jsonEntry(value: unknown, path: string): Entry {
  if (!Array.isArray(value)) throw wrongField(path, "an array of time, line and structured metadata", value);
  const [time, line, metadata] = value as unknown[];
  const isTime = typeof time === "bigint" || /^\d{1,20}$/.test(String(time));
  if (!isTime) throw wrongField(`${path}[0]`, "Unix time in nanoseconds, its digits in a string", time);
  if (typeof line !== "string") throw wrongField(`${path}[1]`, "the line, a string", line);
  return { timeNs: BigInt(String(time)), line, metadata: textsOf(metadata, `${path}[2]`) };
}

function addEntry(sink: RowSink, { labels, units: labelUnits }: Labels, read: () => Entry): void {
  try {
    sink.repeat(labelUnits);
    const { timeNs, line, metadata } = read();
    const attributes: Texts = Object.assign(Object.create(null), labels, metadata);
    const level = attributes[levelKeys.find((key) => (attributes[key] ?? "") !== "") ?? ""] ?? "";
    sink.addText({ timeNs: timeNs === 0n ? sink.arrivalNs() : timeNs, level, message: line, attributes });
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    sink.refuse(problem);
  }
}

/** Labels of a stream, and their UTF-16 units, which each of its entries gets. */
interface Labels {
  labels: Readonly<Texts>;
  units: number;
}

function withServiceName(labels: Texts): Labels {
  const name = agentServiceName(labels);
  if (name !== undefined) labels[serviceKey] = name;
  const units = Object.entries(labels).reduce((sum, [key, text]) => sum + key.length + text.length, 0);
  return { labels, units };
}

/** What is wrong with a stream is wrong with the body. */
function whole<T>(read: () => T): T {
  try {
    return read();
  } catch (problem) {
    throw problem instanceof RowProblem ? new Refusal(400, problem.message) : problem;
  }
}

function parsed(body: Buffer): unknown {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const text = body.toString("utf8");
  try {
    // Times as numbers are more than JSON.parse can hold.
    return /[[,]\s*\d{16}/.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function arrayOf(value: unknown, name: string, path = ""): unknown[] {
  const list = typeof value === "object" && value !== null ? (value as JsonFields)[name] : undefined;
  if (Array.isArray(list)) return list;
  throw new Refusal(400, wrongField(path === "" ? name : `${path}.${name}`, "an array", list).message);
}

/** An object of strings; what is no string becomes its JSON text. */
function textsOf(value: unknown, path: string): Texts {
  const texts: Texts = Object.create(null);
  if (value === undefined || value === null) return texts;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new Refusal(400, wrongField(path, "an object of strings", value).message);
  }
  for (const [key, text] of Object.entries(value)) {
    if (text !== null) texts[key] = typeof text === "object" ? JSON.stringify(text) : String(text);
  }
  return texts;
}
