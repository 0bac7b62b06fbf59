/** Decodes bodies of Loki's push API into log rows. The stream's labels and structured metadata become attributes. */

import { isUtf8 } from "node:buffer";
import { Refusal } from "../../throttle/refusal.ts";
import { parseExact, stringifyExact } from "../json/exact-json.ts";
import { type JsonFields, makeFieldProblem, scalarText } from "../json/json-row.ts";
import { checkJsonSize } from "../json/json-size.ts";
import type { RowSink } from "../row-sink.ts";
import { PushBody } from "./push-body.ts";
import { addEntry, addServiceName, type StreamEntry, type Texts } from "./stream.ts";

export function readPushJson(body: Buffer, sink: RowSink): void {
  for (const [i, stream] of arrayOf(parseJson(body), "streams").entries()) {
    const path = `streams[${i}]`;
    const labels = addServiceName(textsOf((stream as JsonFields | null)?.stream, `${path}.stream`));
    for (const [j, value] of arrayOf(stream, "values", path).entries()) {
      addEntry(sink, labels, () => readJsonEntry(value, `${path}.values[${j}]`));
    }
  }
}

export function readPushProtobuf(body: Buffer, sink: RowSink): void {
  new PushBody(body, sink).read();
}

function readJsonEntry(value: unknown, path: string): StreamEntry {
  if (!Array.isArray(value))
    throw makeFieldProblem(path, "an array of time, line and structured metadata", value);
  const [time, line, metadata] = value as unknown[];
  const isTime = typeof time === "bigint" || /^\d{1,20}$/.test(scalarText(time));
  if (!isTime) throw makeFieldProblem(`${path}[0]`, "Unix time in nanoseconds, its digits in a string", time);
  if (typeof line !== "string") throw makeFieldProblem(`${path}[1]`, "the line, a string", line);
  return { timeNs: BigInt(scalarText(time)), line, metadata: textsOf(metadata, `${path}[2]`) };
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
