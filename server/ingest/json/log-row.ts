/** One JSON object of a body becomes one log row, or one row of the signals that have a body. */

import type { LogRow } from "../../../engine/index.ts";
import { attributesOf, readJsonRow, textOf, timeOf } from "./json-row.ts";

export interface ReadRow {
  row: LogRow;
  /** The row came with a time of its own; else it has the time of arrival. */
  timed: boolean;
}

const logFields = new Set(["timestamp", "timeUnixNano", "log_level", "message"]);
const bodyFields = new Set(["timestamp", "timeUnixNano", "body"]);

/** `text` is one JSON object. Throws RowProblem. */
export function readLogRow(text: string, arrivalNs: bigint): ReadRow {
  return readJsonRow(text, (json, onNumber) => {
    const timeNs = timeOf(json, onNumber);
    const level = textOf(json.log_level, onNumber) ?? "";
    const message = textOf(json.message, onNumber) ?? "";
    const attributes = attributesOf(json, "attributes", logFields, onNumber);
    return { row: { timeNs: timeNs ?? arrivalNs, level, message, attributes }, timed: timeNs !== null };
  });
}

/** A profile or a Kubernetes resource, whose body is the row's message. Throws RowProblem. */
export function readBodyRow(text: string, arrivalNs: bigint): ReadRow {
  return readJsonRow(text, (json, onNumber) => {
    const timeNs = timeOf(json, onNumber);
    const message = textOf(json.body, onNumber) ?? "";
    const attributes = attributesOf(json, "attributes", bodyFields, onNumber);
    return { row: { timeNs: timeNs ?? arrivalNs, level: "", message, attributes }, timed: timeNs !== null };
  });
}
