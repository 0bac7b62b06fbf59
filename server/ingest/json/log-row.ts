/** Reads a log row, a profile or a Kubernetes resource from its JSON object, by the general reader. */

import type { LogRow } from "../../../engine/index.ts";
import { findOtherSignal, isLoggerRow, type LogFieldNames } from "../loggers/field-names.ts";
import { areMillis, readTime, timeExpected } from "../loggers/log-time.ts";
import { readLoggerFields } from "../loggers/logger-row.ts";
import {
  attributesOf,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  nanosOf,
  type OnNumber,
  RowProblem,
  readJsonRow,
  textOf,
  timeOf,
} from "./json-row.ts";

export interface ReadRow {
  row: LogRow;
  /** False where the row came without a time and got the time of arrival. */
  hasOwnTime: boolean;
}

const logFields = new Set(["timestamp", "timeUnixNano", "log_level", "message"]);
const bodyFields = new Set(["timestamp", "timeUnixNano", "body"]);

/**
 * Reads a log row; `text` is one JSON object, of svc's own form or of a logger's. `names` are the fields that the sender
 * named. Throws RowProblem.
 */
export function readLogRow(text: string, arrivalNs: bigint, names?: LogFieldNames): ReadRow {
  return readJsonRow(text, (json, onNumber) => {
    const problem = findOtherSignal(json);
    if (problem !== undefined) throw new RowProblem("field", problem);
    if (names !== undefined || isLoggerRow(json)) return readLogger(json, names ?? {}, arrivalNs, onNumber);
    const timeNs = isGiven(json.timeUnixNano)
      ? nanosOf(json, "timeUnixNano", onNumber)
      : timestampOf(json, onNumber);
    const level = textOf(json.log_level, onNumber) ?? "";
    const message = textOf(json.message, onNumber) ?? "";
    const attributes = attributesOf(json, "attributes", logFields, onNumber);
    return { row: { timeNs: timeNs ?? arrivalNs, level, message, attributes }, hasOwnTime: timeNs !== null };
  });
}

/** Whole milliseconds, unless the magnitude or the form shows another unit; null for a row without. */
function timestampOf({ timestamp }: JsonFields, onNumber: OnNumber): bigint | null {
  if (!isGiven(timestamp)) return null;
  if (typeof timestamp === "number") onNumber(timestamp);
  if (Number.isInteger(timestamp) && areMillis(timestamp as number))
    return BigInt(timestamp as number) * 1_000_000n;
  const time = readTime(timestamp);
  if (time !== undefined) return time.nanos;
  throw makeFieldProblem("timestamp", timeExpected, timestamp);
}

function readLogger(json: JsonFields, names: LogFieldNames, arrivalNs: bigint, onNumber: OnNumber): ReadRow {
  const { row, timeNs } = readLoggerFields(json, names, onNumber);
  return { row: { timeNs: timeNs ?? arrivalNs, ...row }, hasOwnTime: timeNs !== undefined };
}

/** Reads a profile or a Kubernetes resource; its `body` becomes the row's message. Throws RowProblem. */
export function readBodyRow(text: string, arrivalNs: bigint): ReadRow {
  return readJsonRow(text, (json, onNumber) => {
    const timeNs = timeOf(json, onNumber);
    const message = textOf(json.body, onNumber) ?? "";
    const attributes = attributesOf(json, "attributes", bodyFields, onNumber);
    return {
      row: { timeNs: timeNs ?? arrivalNs, level: "", message, attributes },
      hasOwnTime: timeNs !== null,
    };
  });
}
