/** Bodies of Elasticsearch's bulk API become log rows; the answer tells of each of them. */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { Refusal } from "../../limits/refusal.ts";
import { describeValue } from "../../text/quote.ts";
import { isoNanos } from "../iso-time.ts";
import {
  flatFields,
  isGiven,
  type JsonFields,
  type OnNumber,
  RowProblem,
  readJsonRow,
  textOf,
  wrongField,
} from "../json/json-row.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";

const timeKeys = ["@timestamp", "timestamp", "time"] as const;
/** Filebeat and Logstash say `message`, Fluent Bit `log`. */
const messageKeys = ["message", "log", "msg"] as const;
/** What may hold the level of a row, the first that is there; it stays an attribute, too. */
const levelKeys = ["log.level", "log_level", "level", "severity", "syslog_severity"];

const actions = ["index", "create", "update", "delete"] as const;

interface Action {
  name: (typeof actions)[number];
  index: string;
  id: string;
}

/** `index` is what a row goes to that names none itself. */
export function readBulk(body: Buffer, sink: RowSink, index: string): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const lines = new BulkLines(body);
  const items: string[] = [];
  let hasErrors = false;
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const action = actionOf(line, lines.number, index);
    const problem = itemProblem(action, lines, sink);
    hasErrors ||= problem !== undefined;
    items.push(itemJson(action, items.length, problem));
  }
  if (items.length === 0) throw new Refusal(400, "the body must hold actions and documents, line by line");
  sink.answer = `{"took":0,"errors":${hasErrors},"items":[${items.join(",")}]}`;
}

/** The lines of a body that are not empty. */
class BulkLines {
  /** Of the line that was read last, from 1. */
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

/** Why the action was not carried out, or undefined. */
function itemProblem({ name, index }: Action, lines: BulkLines, sink: RowSink): string | undefined {
  const document = name === "delete" ? undefined : lines.next();
  try {
    if (name === "delete" || name === "update") {
      throw new RowProblem("field", `rows are only added: ${name} is not possible`);
    }
    if (document === undefined) throw new RowProblem("json", "the document is missing");
    return sink.addText(documentRow(document, index, sink));
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    sink.refuse(problem);
    return problem.message;
  }
}

function actionOf(line: string, number: number, index: string): Action {
  const action = parsedAction(line);
  const name = actions.find((each) => isGiven(action?.[each]));
  const given = name === undefined ? undefined : action?.[name];
  if (name === undefined || typeof given !== "object" || given === null) {
    const expected = `an action such as {"create":{"_index":"logs"}}`;
    throw new Refusal(400, `line ${number} must be ${expected}, got ${describeValue(line)}`);
  }
  const { _index: ownIndex, _id: id } = given as JsonFields;
  return {
    name,
    index: typeof ownIndex === "string" ? ownIndex : index,
    id: typeof id === "string" ? id : "",
  };
}

function parsedAction(line: string): JsonFields | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as JsonFields) : undefined;
  } catch {
    return undefined;
  }
}

function itemJson({ name, index, id }: Action, place: number, problem: string | undefined): string {
  const head = `"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id === "" ? String(place) : id)}`;
  if (problem === undefined) {
    return `{"${name}":{${head},"_version":1,"result":"created","_seq_no":${place},"_primary_term":1,"status":201}}`;
  }
  const error = JSON.stringify({ type: "document_parsing_exception", reason: problem });
  return `{"${name}":{${head},"status":400,"error":${error}}}`;
}

function documentRow(text: string, index: string, sink: RowSink): LogRow {
  return readJsonRow(text, (json, onNumber) => {
    const time = timeOf(json, onNumber);
    const messageKey = messageKeys.find((key) => typeof json[key] === "string");
    const attributes = flatFields(json, new Set([time?.key ?? "", messageKey ?? ""]), onNumber);
    if (index !== "") attributes._index ??= index;
    const name = agentServiceName(attributes);
    if (name !== undefined) attributes[serviceKey] = name;
    const levelKey = levelKeys.find((key) => (attributes[key] ?? "") !== "");
    return {
      level: levelKey === undefined ? "" : attributes[levelKey]!,
      message: messageKey === undefined ? "" : (textOf(json[messageKey], onNumber) ?? ""),
      attributes,
      timeNs: time?.nanos ?? sink.arrivalNs(),
    };
  });
}

/** The first of the fields that may hold the time; one that holds something else is an attribute, unless it is `@timestamp`. */
function timeOf(json: JsonFields, onNumber: OnNumber): { key: string; nanos: bigint } | undefined {
  for (const key of timeKeys) {
    const nanos = isGiven(json[key]) ? nanosOf(json[key], onNumber) : undefined;
    if (nanos !== undefined) return { key, nanos };
    if (key !== "@timestamp" || !isGiven(json[key])) continue;
    throw wrongField(key, "a date such as 2026-01-31T12:00:00.000Z, or Unix time in milliseconds", json[key]);
  }
  return undefined;
}

/** A date, or milliseconds since the epoch, as Elasticsearch's own `date` fields take them. */
function nanosOf(value: unknown, onNumber: OnNumber): bigint | undefined {
  if (typeof value === "number" && Number.isFinite(value)) {
    onNumber(value);
    return BigInt(Math.round(value * 1000)) * 1_000n;
  }
  if (typeof value !== "string") return undefined;
  return isoNanos(value) ?? (/^\d{1,15}$/.test(value) ? BigInt(value) * 1_000_000n : undefined);
}
