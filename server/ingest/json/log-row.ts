/** Reads a log row, a profile or a Kubernetes resource from its JSON object, by the general reader. */

import type { LogRow } from "../../../engine/index.ts";
import { isLoggerRow, isSpan, type LogFieldNames } from "../loggers/field-names.ts";
import { readLoggerFields } from "../loggers/logger-row.ts";
import {
  attributesOf,
  type JsonFields,
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
    if (isSpan(json)) throw new RowProblem("field", spanSentAsLog);
    if (names !== undefined || isLoggerRow(json)) return readLogger(json, names ?? {}, arrivalNs, onNumber);
    const timeNs = timeOf(json, onNumber);
    const level = textOf(json.log_level, onNumber) ?? "";
    const message = textOf(json.message, onNumber) ?? "";
    const attributes = attributesOf(json, "attributes", logFields, onNumber);
    return { row: { timeNs: timeNs ?? arrivalNs, level, message, attributes }, hasOwnTime: timeNs !== null };
  });
}

const spanSentAsLog =
  "startTimeUnixNano belongs to a span: spans go to POST /api/v1/ingest/spans (svc ingest --signal spans), those of OTLP to POST /v1/traces";

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
