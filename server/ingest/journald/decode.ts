/**
 * Decodes entries of journald in its export format (https://systemd.io/JOURNAL_EXPORT_FORMATS/): fields of text are lines
 * `NAME=value`, others are the name on a line, eight bytes of length, and the value. A blank line ends an entry.
 */

import { isUtf8 } from "node:buffer";
import { type LogRow, Turns } from "../../../engine/index.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyTask } from "../decode-task.ts";
import { cursorKey, DocumentList, digestOfEntry } from "../documents/document-list.ts";
import { makeFieldProblem } from "../json/json-row.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { severityText } from "../syslog/severity.ts";

const newline = 0x0a;
const equalsSign = 0x3d;
const lengthBytes = 8;
/** The time in microseconds, the message and the severity. */
const timeName = "__REALTIME_TIMESTAMP";
const messageName = "MESSAGE";
const priorityName = "PRIORITY";
/** Fields that are part of the cursor, which identifies the entry. */
const addressNames: ReadonlySet<string> = new Set(["__MONOTONIC_TIMESTAMP", "__SEQNUM", "__SEQNUM_ID"]);
/** What names the service, the first that is present. */
const serviceNames = ["SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "_COMM"] as const;

/** Values by name: a field may come more than once. */
type EntryFields = Map<string, string[]>;

/** An entry whose cursor is stored already, as after an upload that was broken off, is left out. */
export function readJournalExport(body: Buffer, sink: RowSink, task: BodyTask): void {
  let fields: EntryFields = new Map();
  const documents = new DocumentList(task, digestOfEntry);
  let known = 0;
  const endEntry = () => {
    const ended = fields;
    if (ended.size > 0)
      sink.refuseOnProblem(() => {
        if (!addEntry(ended, sink, documents)) known++;
      });
    fields = new Map();
  };
  for (let at = 0; at < body.length; ) {
    if (body[at] === newline) {
      endEntry();
      at++;
    } else at = readField(body, at, fields);
  }
  endEntry();
  sink.documents = documents.finish();
  sink.answer = String(known);
}

/** Adds the row of an entry. Returns false where its cursor is stored already. Throws RowProblem. */
function addEntry(fields: EntryFields, sink: RowSink, documents: DocumentList): boolean {
  const row = makeRow(fields, sink);
  const hasId = row.attributes[cursorKey] !== undefined && !documents.isFull;
  if (hasId && documents.isTaken(row.attributes)) {
    sink.countRow(undefined);
    return false;
  }
  const reason = sink.addText(row);
  if (reason === undefined && hasId) documents.add();
  return true;
}

/** Positions: after the last whole entry (0 where there is none), and of the first field that is not whole. */
export interface EntriesEnd {
  end: number;
  unfinished: number;
}

/** Fields that are looked at before the clock is. */
const fieldsATurn = 1_024;

/** Finds the end of the whole entries. `from`: where a field begins, with no end of an entry before it. */
export async function findEntriesEnd(body: Buffer, from: number): Promise<EntriesEnd> {
  const turns = new Turns();
  let end = 0;
  let at = from;
  for (let fields = 1; at < body.length; fields++) {
    if (fields % fieldsATurn === 0 && turns.isOver) await turns.next();
    const isBlank = body[at] === newline;
    const next = isBlank ? at + 1 : locateField(body, at).valueEnd + 1;
    if (next > body.length) break;
    if (isBlank) end = next;
    at = next;
  }
  return { end, unfinished: at };
}

/** Positions of a field. A line break follows its value; both may lie after the end of the body. */
interface FieldPlace {
  nameEnd: number;
  valueFrom: number;
  valueEnd: number;
}

function locateField(body: Buffer, from: number): FieldPlace {
  const end = body.indexOf(newline, from);
  const lineEnd = end < 0 ? body.length : end;
  const equals = body.subarray(from, lineEnd).indexOf(equalsSign);
  if (equals >= 0) return { nameEnd: from + equals, valueFrom: from + equals + 1, valueEnd: lineEnd };
  const valueFrom = lineEnd + 1 + lengthBytes;
  const length = valueFrom <= body.length ? Number(body.readBigUInt64LE(lineEnd + 1)) : 0;
  return { nameEnd: lineEnd, valueFrom, valueEnd: valueFrom + length };
}

/** Reads the field at `from`; returns the position after it. Throws Refusal 400 where it is cut short. */
function readField(body: Buffer, from: number, fields: EntryFields): number {
  const { nameEnd, valueFrom, valueEnd } = locateField(body, from);
  // The last line may lack its break.
  const isText = body[nameEnd] === equalsSign;
  if (!isText && (valueEnd >= body.length || body[valueEnd] !== newline)) {
    const name = JSON.stringify(body.toString("utf8", from, Math.min(nameEnd, from + 60)));
    throw new Refusal(
      400,
      `the field ${name} at byte ${from} must be NAME=value, or have its length, its value and a line break after it`,
    );
  }
  putValue(fields, body.toString("utf8", from, nameEnd), body.subarray(valueFrom, valueEnd));
  return valueEnd + 1;
}

/** A value that is no text is stored as Base64. */
function putValue(fields: EntryFields, name: string, value: Buffer): void {
  const text = value.toString(isUtf8(value) ? "utf8" : "base64");
  const before = fields.get(name);
  if (before === undefined) fields.set(name, [text]);
  else before.push(text);
}

/** Throws RowProblem. */
function makeRow(fields: EntryFields, sink: RowSink): LogRow {
  const first = (name: string) => fields.get(name)?.[0];
  const attributes: Record<string, string> = Object.create(null);
  for (const [name, values] of fields) {
    if (name === timeName || name === messageName || addressNames.has(name)) continue;
    attributes[name] = values.length === 1 ? values[0]! : JSON.stringify(values);
  }
  const host = first("_HOSTNAME");
  if (host !== undefined) attributes["host.name"] = host;
  const service = serviceNames.map(first).find((name) => (name ?? "") !== "");
  const name = agentServiceName(attributes) ?? service;
  if (name !== undefined) attributes[serviceKey] ??= name;
  return {
    timeNs: readTime(first(timeName)) ?? sink.arrivalNs(),
    level: severityText(first(priorityName) ?? ""),
    message: first(messageName) ?? "",
    attributes,
  };
}

function readTime(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,17}$/.test(text)) throw makeFieldProblem(timeName, "Unix time in microseconds", text);
  return BigInt(text) * 1_000n;
}
