/** Reads a log row from the JSON object of a logger, whose fields have names of the logger's own. */

import type { LogRow } from "../../../engine/index.ts";
import {
  flattenFields,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  type OnNumber,
  textOf,
} from "../json/json-row.ts";
import {
  formOf,
  type LogFieldNames,
  looseTimeNames,
  messageNames,
  timeNames,
  valueAt,
} from "./field-names.ts";
import { findLevel, textOfLevel } from "./level.ts";
import { type LoggerTime, readTime, timeExpected } from "./log-time.ts";

interface FoundTime extends LoggerTime {
  name: string;
}

const none: ReadonlySet<string> = new Set();
/** Names below a time that is an object. */
const timeParts = ["seconds", "nanos", "epochSecond", "nanoOfSecond"];

/**
 * Reads the row. Its level stays an attribute, too; its time and message do not. Throws RowProblem where the field of
 * the time holds none.
 */
export function readLoggerFields(
  json: JsonFields,
  names: LogFieldNames,
  onNumber: OnNumber,
): { row: UntimedRow; timeNs: bigint | undefined } {
  const time = findTime(json, names);
  const row = readUntimedFields(json, names, onNumber);
  if (time !== undefined) {
    delete row.attributes[time.name];
    for (const part of timeParts) delete row.attributes[`${time.name}.${part}`];
  }
  return { row, timeNs: time?.nanos };
}

/** A row whose time is not known yet. */
export interface UntimedRow extends Omit<LogRow, "timeNs"> {
  attributes: Record<string, string>;
}

/**
 * Reads a record whose time is known from elsewhere. Fields that may hold a time are attributes like all others. Throws
 * RowProblem.
 */
export function readUntimedFields(json: JsonFields, names: LogFieldNames, onNumber: OnNumber): UntimedRow {
  const level = findLevelOf(json, names);
  const messageName = findMessageName(json, names);
  const attributes = flattenFields(json, none, onNumber);
  for (const key in json.attributes as JsonFields | undefined) moveUp(attributes, key);
  if (messageName !== undefined) delete attributes[messageName];
  const sent = messageName === undefined ? "" : (textOf(valueAt(json, messageName), onNumber) ?? "");
  // Docker writes the line with its end.
  const message = messageName === "log" ? sent.replace(/\r?\n$/, "") : sent;
  return { level: level?.text ?? "", message, attributes };
}

/** Describes how the row is read, as in `pino: time from "time" (ms), level from "level", message from "msg"`. */
export function describeLoggerRow(json: JsonFields, names: LogFieldNames): string {
  const time = findTime(json, names);
  const level = findLevelOf(json, names);
  const message = findMessageName(json, names);
  const parts = [
    time === undefined
      ? "no time (rows get the time of their arrival)"
      : `time from "${time.name}" (${time.unit})`,
    level === undefined ? "no level" : `level from "${level.name}"`,
    message === undefined ? "no message" : `message from "${message}"`,
  ];
  return `${formOf(json)}: ${parts.join(", ")}`;
}

/** Members of svc's own `attributes` are attributes by their own names. */
function moveUp(attributes: Record<string, string>, key: string): void {
  const value = attributes[`attributes.${key}`];
  if (value === undefined) return;
  delete attributes[`attributes.${key}`];
  attributes[key] = value;
}

/** The first time among the candidates. Throws RowProblem where there is none and one of them holds something else. */
function findTime(json: JsonFields, names: LogFieldNames): FoundTime | undefined {
  let wrong: string | undefined;
  for (const name of names.time === undefined ? timeNames : [names.time]) {
    const value = valueAt(json, name);
    if (!isGiven(value)) continue;
    const time = readTime(value);
    if (time !== undefined) return { name, ...time };
    if (names.time !== undefined || !looseTimeNames.has(name)) wrong ??= name;
  }
  if (wrong !== undefined) throw makeFieldProblem(wrong, timeExpected, valueAt(json, wrong));
  return undefined;
}

function findLevelOf(
  json: JsonFields,
  { level: name }: LogFieldNames,
): { name: string; text: string } | undefined {
  if (name === undefined) return findLevel((each) => valueAt(json, each));
  const text = textOfLevel(valueAt(json, name));
  return text === "" ? undefined : { name, text };
}

/** The name of the message; `message` may hold any JSON, the other names only text. */
function findMessageName(json: JsonFields, names: LogFieldNames): string | undefined {
  if (names.message !== undefined) return isGiven(valueAt(json, names.message)) ? names.message : undefined;
  return messageNames.find((name) =>
    name === "message" ? isGiven(json.message) : typeof valueAt(json, name) === "string",
  );
}
