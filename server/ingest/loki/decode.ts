/** Decodes bodies of Loki's push API into log rows. The stream's labels and structured metadata become attributes. */

import { isUtf8 } from "node:buffer";
import { Refusal } from "../../throttle/refusal.ts";
import { parseExact, stringifyExact } from "../json/exact-json.ts";
import {
  checkSharedAttributes,
  type JsonFields,
  makeFieldProblem,
  refuseBodyOnProblem,
} from "../json/json-row.ts";
import { checkJsonSize } from "../json/json-size.ts";
import { sharedAttributeCost } from "../limits.ts";
import { levelOfAttributes } from "../loggers/level.ts";
import { decodeOrRefuse } from "../protobuf-scanner.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { parseLabels } from "./labels.ts";
import { pushRequest } from "./schema.ts";

type Texts = Record<string, string>;

export function readPushJson(body: Buffer, sink: RowSink): void {
  for (const [i, stream] of arrayOf(parseJson(body), "streams").entries()) {
    const path = `streams[${i}]`;
    const labels = addServiceName(textsOf((stream as JsonFields | null)?.stream, `${path}.stream`));
    for (const [j, value] of arrayOf(stream, "values", path).entries()) {
      addEntry(sink, labels, () => readJsonEntry(value, `${path}.values[${j}]`));
    }
  }
}

interface Entry {
  timeNs: bigint;
  line: string;
  metadata: Texts;
}

export function readPushProtobuf(body: Buffer, sink: RowSink): void {
  const request = decodeOrRefuse(() => pushRequest.decode(body)) as unknown as { streams: WireStream[] };
  for (const { labels: text, entries } of request.streams) {
    const labels = addServiceName(refuseBodyOnProblem(() => parseLabels(text)));
    for (const entry of entries) addEntry(sink, labels, () => readProtobufEntry(entry));
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

function readProtobufEntry({ timestamp, line, structuredMetadata }: WireEntry): Entry {
  const seconds = BigInt((timestamp?.seconds ?? 0).toString());
  const metadata: Texts = Object.create(null);
  for (const { name, value } of structuredMetadata) metadata[name] = value;
  return { timeNs: seconds * 1_000_000_000n + BigInt(timestamp?.nanos ?? 0), line, metadata };
}

function readJsonEntry(value: unknown, path: string): Entry {
  if (!Array.isArray(value))
    throw makeFieldProblem(path, "an array of time, line and structured metadata", value);
  const [time, line, metadata] = value as unknown[];
  const isTime = typeof time === "bigint" || /^\d{1,20}$/.test(String(time));
  if (!isTime) throw makeFieldProblem(`${path}[0]`, "Unix time in nanoseconds, its digits in a string", time);
  if (typeof line !== "string") throw makeFieldProblem(`${path}[1]`, "the line, a string", line);
  return { timeNs: BigInt(String(time)), line, metadata: textsOf(metadata, `${path}[2]`) };
}

function addEntry(sink: RowSink, { labels, count, copyCost }: Labels, read: () => Entry): void {
  sink.refuseOnProblem(() => {
    checkSharedAttributes(count);
    sink.countRepeatedBytes(copyCost);
    const { timeNs, line, metadata } = read();
    const attributes: Texts = Object.assign(Object.create(null), labels, metadata);
    const level = levelOfAttributes(attributes);
    sink.addText({ timeNs: timeNs === 0n ? sink.arrivalNs() : timeNs, level, message: line, attributes });
  });
}

/** Labels of a stream, and the bytes that each entry is charged for its copy of them. */
interface Labels {
  labels: Readonly<Texts>;
  count: number;
  copyCost: number;
}

function addServiceName(labels: Texts): Labels {
  const name = agentServiceName(labels);
  if (name !== undefined) labels[serviceKey] = name;
  const entries = Object.entries(labels);
  const units = entries.reduce((sum, [key, text]) => sum + key.length + text.length, 0);
  return { labels, count: entries.length, copyCost: units + entries.length * sharedAttributeCost };
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  checkJsonSize(body);
  const text = body.toString("utf8");
  try {
    // Times that are sent as numbers have more digits than JSON.parse keeps.
    return /[[,]\s*\d{16}/.test(text) ? parseExact(text) : JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function arrayOf(value: unknown, name: string, path = ""): unknown[] {
  const list = typeof value === "object" && value !== null ? (value as JsonFields)[name] : undefined;
  if (Array.isArray(list)) return list;
  throw new Refusal(400, makeFieldProblem(path === "" ? name : `${path}.${name}`, "an array", list).message);
}

/** Converts an object of texts; other values become their JSON text. */
function textsOf(value: unknown, path: string): Texts {
  const texts: Texts = Object.create(null);
  if (value === undefined || value === null) return texts;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new Refusal(400, makeFieldProblem(path, "an object of strings", value).message);
  }
  for (const [key, text] of Object.entries(value)) {
    if (text !== null)
      texts[key] = typeof text === "object" ? stringifyExact(text, () => undefined) : String(text);
  }
  return texts;
}
