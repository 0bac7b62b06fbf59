/**
 * Decodes bodies of Elasticsearch's bulk API, and single documents, into log rows, and writes the answer, which reports
 * on each action.
 */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyTask } from "../decode-task.ts";
import { DocumentList, digestOfDocument, idKey, indexKey } from "../documents/document-list.ts";
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
import { documentIdBytesMax, jsonRowLengthMax } from "../limits.ts";
import { messageNames } from "../loggers/field-names.ts";
import { levelOfAttributes } from "../loggers/level.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey, syslogServiceNames } from "../service-name.ts";
import { filterPaths } from "./filter-path.ts";

const timeKeys = ["@timestamp", "timestamp", "time"] as const;

const actions = ["index", "create", "update", "delete"] as const;

interface Action {
  name: (typeof actions)[number];
  index: string;
  /** "" where the document has no id. */
  id: string;
}

/** Why a document is not stored, as the answer reports it. */
interface ItemError {
  status: 400 | 409;
  type: string;
  reason: string;
}

/** The names of the parameters of a task that Elasticsearch's formats read. */
export const bulkParameters = { filterPath: "filter_path", action: "action", id: "id" } as const;

/** Reads a bulk body; the task's index is for actions that name none themselves. */
export function readBulk(body: Buffer, sink: RowSink, task: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const lines = new BulkLines(body);
  const documents = new DocumentList(task, digestOfDocument);
  const items: string[] = [];
  let hasErrors = false;
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const action = readAction(line, lines.number, task.index);
    const document = action.name === "delete" ? undefined : lines.next();
    const error = addDocument(action, document, sink, documents);
    hasErrors ||= error !== undefined;
    items.push(writeItem(action, items.length, error));
  }
  if (items.length === 0) throw new Refusal(400, "the body must hold actions and documents, line by line");
  sink.documents = documents.finish();
  const answer = `{"took":0,"errors":${hasErrors},"items":[${items.join(",")}]}`;
  const paths = task.parameters?.[bulkParameters.filterPath];
  sink.answer = paths === undefined ? answer : JSON.stringify(filterPaths(JSON.parse(answer), paths));
}

/** Reads a body that is one document, whose action and id are the task's parameters. */
export function readSingleDocument(body: Buffer, sink: RowSink, task: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const { parameters = {}, index } = task;
  const action: Action = {
    name: parameters[bulkParameters.action] === "create" ? "create" : "index",
    index,
    id: parameters[bulkParameters.id] ?? "",
  };
  const documents = new DocumentList(task, digestOfDocument);
  const text = body.toString("utf8");
  const error = addDocument(action, text.trim() === "" ? undefined : text, sink, documents);
  sink.documents = documents.finish();
  sink.answer = writeItem(action, 0, error);
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
function addDocument(
  { name, index, id }: Action,
  document: string | undefined,
  sink: RowSink,
  documents: DocumentList,
): ItemError | undefined {
  try {
    if (name === "delete" || name === "update") {
      throw new RowProblem("field", `rows are only added: ${name} is not possible`);
    }
    if (Buffer.byteLength(id) > documentIdBytesMax)
      throw new RowProblem("field", `_id is longer than ${documentIdBytesMax} bytes`);
    if (document === undefined) throw new RowProblem("json", "the document is missing");
    const row = readDocument(document, { index, id }, sink);
    if (id !== "" && documents.isTaken(row.attributes)) return makeConflict(name, id);
    const reason = sink.addText(row);
    if (reason !== undefined) return makeItemError(reason);
    if (id !== "") documents.add();
    return undefined;
  } catch (problem) {
    if (!(problem instanceof RowProblem)) throw problem;
    sink.refuseRow(problem);
    return makeItemError(problem.message);
  }
}

function makeItemError(reason: string): ItemError {
  return { status: 400, type: "document_parsing_exception", reason };
}

/** Elasticsearch would replace the document where the action is `index`. */
function makeConflict(name: "index" | "create", id: string): ItemError {
  const problem =
    name === "create"
      ? "document already exists (current version [1])"
      : "the document is stored already, and stored rows are not replaced";
  return {
    status: 409,
    type: "version_conflict_engine_exception",
    reason: `[${id}]: version conflict, ${problem}`,
  };
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
    id: typeof id === "string" || typeof id === "number" ? String(id) : "",
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

function writeItem({ name, index, id }: Action, position: number, error: ItemError | undefined): string {
  const head = `"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id === "" ? String(position) : id)}`;
  if (error === undefined) {
    return `{"${name}":{${head},"_version":1,"result":"created","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":${position},"_primary_term":1,"status":201}}`;
  }
  const { status, ...cause } = error;
  return `{"${name}":{${head},"status":${status},"error":${JSON.stringify(cause)}}}`;
}

/** Reads a document. Its index and its id, if it has one, become attributes. */
function readDocument(text: string, { index, id }: Pick<Action, "index" | "id">, sink: RowSink): LogRow {
  return readJsonRow(text, (json, onNumber) => {
    const time = findTime(json, onNumber);
    // Filebeat and Logstash name it `message`, Fluent Bit `log`, syslog-ng and journald `MESSAGE`.
    const messageKey = messageNames.find((key) => typeof json[key] === "string");
    const used = new Set([time?.key ?? "", messageKey ?? "", idKey]);
    const attributes = flattenFields(json, used, onNumber);
    if (index !== "") attributes[indexKey] ??= index;
    // A field of this name is no id of the document.
    const ownField = textOf(json[idKey], onNumber);
    if (ownField !== null) attributes[`attributes.${idKey}`] = ownField;
    if (id !== "") attributes[idKey] = id;
    const name = agentServiceName(attributes, syslogServiceNames);
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
