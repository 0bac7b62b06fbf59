/** Decodes bodies of Elasticsearch's bulk API into log rows, and writes the answer, which reports on each action. */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { isoNanos } from "../iso-time.ts";
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
import { jsonRowLengthMax } from "../limits.ts";
import { levelOfAttributes } from "../loggers/level.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";

const timeKeys = ["@timestamp", "timestamp", "time"] as const;
/** Filebeat and Logstash name the message `message`, Fluent Bit `log`. */
const messageKeys = ["message", "log", "msg"] as const;

const actions = ["index", "create", "update", "delete"] as const;

interface Action {
  name: (typeof actions)[number];
  index: string;
  id: string;
}

/** Reads a bulk body; `index` is for actions that name no index themselves. */
export function readBulk(body: Buffer, sink: RowSink, index: string): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const lines = new BulkLines(body);
  const items: string[] = [];
  let hasErrors = false;
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const action = readAction(line, lines.number, index);
    const problem = addDocument(action, lines, sink);
    hasErrors ||= problem !== undefined;
    items.push(writeItem(action, items.length, problem));
  }
  if (items.length === 0) throw new Refusal(400, "the body must hold actions and documents, line by line");
  sink.answer = `{"took":0,"errors":${hasErrors},"items":[${items.join(",")}]}`;
}

/** Iterates over the lines of a body that are not empty. */
class BulkLines {
  /** Number of the line that was read last, from 1. */
  number = 0;
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  next(): string | undefined {
    while (this.#at < this.#body.length) {
      const end = this.#body.indexOf(0x0a, this.#at);
      const to = end < 0 ? this.#body.length : end;
      const text = this.#body.toString("utf8", this.#at, to);
      this.#at = to + 1;
      this.number++;
      if (text.trim() !== "") return text;
    }
    return undefined;
  }
}

/** Adds an action's document to the sink; returns why that is not possible, or undefined. */
function addDocument({ name, index }: Action, lines: BulkLines, sink: RowSink): string | undefined {
  const document = name === "delete" ? undefined : lines.next();
  try {
    if (name === "delete" || name === "update") {
      throw new RowProblem("field", `rows are only added: ${name} is not possible`);
    }
    if (document === undefined) throw new RowProblem("json", "the document is missing");
    return sink.addText(readDocument(document, index, sink));
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    sink.refuseRow(problem);
    return problem.message;
  }
}

function readAction(line: string, number: number, index: string): Action {
  const action = parseAction(line);
  const name = actions.find((each) => isGiven(action?.[each]));
  const fields = name === undefined ? undefined : action?.[name];
  if (name === undefined || typeof fields !== "object" || fields === null) {
    const expected = `an action such as {"create":{"_index":"logs"}}`;
    throw new Refusal(400, `line ${number} must be ${expected}, got ${describeValue(line)}`);
  }
  const { _index: ownIndex, _id: id } = fields as JsonFields;
  return {
    name,
    index: typeof ownIndex === "string" ? ownIndex : index,
    id: typeof id === "string" ? id : "",
  };
}

function parseAction(line: string): JsonFields | undefined {
  if (line.length > jsonRowLengthMax) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as JsonFields) : undefined;
  } catch {
    return undefined;
  }
}

function writeItem({ name, index, id }: Action, position: number, problem: string | undefined): string {
  const head = `"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id === "" ? String(position) : id)}`;
  if (problem === undefined) {
    return `{"${name}":{${head},"_version":1,"result":"created","_seq_no":${position},"_primary_term":1,"status":201}}`;
  }
  const error = JSON.stringify({ type: "document_parsing_exception", reason: problem });
  return `{"${name}":{${head},"status":400,"error":${error}}}`;
}

function readDocument(text: string, index: string, sink: RowSink): LogRow {
  return readJsonRow(text, (json, onNumber) => {
    const time = findTime(json, onNumber);
    const messageKey = messageKeys.find((key) => typeof json[key] === "string");
    const attributes = flattenFields(json, new Set([time?.key ?? "", messageKey ?? ""]), onNumber);
    if (index !== "") attributes._index ??= index;
    const name = agentServiceName(attributes);
    if (name !== undefined) attributes[serviceKey] = name;
    return {
      level: levelOfAttributes(attributes),
      message: messageKey === undefined ? "" : (textOf(json[messageKey], onNumber) ?? ""),
      attributes,
      timeNs: time?.nanos ?? sink.arrivalNs(),
    };
  });
}

/**
 * Finds the time in the first field that holds one. A field with anything else is an attribute, but a wrong
 * `@timestamp` throws RowProblem.
 */
function findTime(json: JsonFields, onNumber: OnNumber): { key: string; nanos: bigint } | undefined {
  for (const key of timeKeys) {
    const nanos = isGiven(json[key]) ? nanosOf(json[key], onNumber) : undefined;
    if (nanos !== undefined) return { key, nanos };
    if (key !== "@timestamp" || !isGiven(json[key])) continue;
    throw makeFieldProblem(
      key,
      "a date such as 2026-01-31T12:00:00.000Z, or Unix time in milliseconds",
      json[key],
    );
  }
  return undefined;
}

/** Parses a date or milliseconds since the epoch, as Elasticsearch's `date` fields do. */
function nanosOf(value: unknown, onNumber: OnNumber): bigint | undefined {
  if (typeof value === "number" && Number.isFinite(value)) {
    onNumber(value);
    return BigInt(Math.round(value * 1000)) * 1_000n;
  }
  if (typeof value !== "string") return undefined;
  return isoNanos(value) ?? (/^\d{1,15}$/.test(value) ? BigInt(value) * 1_000_000n : undefined);
}
