/** Reads a log row, a profile or a Kubernetes resource from its JSON object, by the general reader. */

import type { LogRow } from "../../../engine/index.ts";
import { attributesOf, readJsonRow, textOf, timeOf } from "./json-row.ts";

export interface ReadRow {
  row: LogRow;
  /** False where the row came without a time and got the time of arrival. */
  hasOwnTime: boolean;
}

const logFields = new Set(["timestamp", "timeUnixNano", "log_level", "message"]);
const bodyFields = new Set(["timestamp", "timeUnixNano", "body"]);

/** Reads a log row; `text` is one JSON object. Throws RowProblem. */
export function readLogRow(text: string, arrivalNs: bigint): ReadRow {
  return readJsonRow(text, (json, onNumber) => {
    const timeNs = timeOf(json, onNumber);
    const level = textOf(json.log_level, onNumber) ?? "";
    const message = textOf(json.message, onNumber) ?? "";
    const attributes = attributesOf(json, "attributes", logFields, onNumber);
    return { row: { timeNs: timeNs ?? arrivalNs, level, message, attributes }, hasOwnTime: timeNs !== null };
  });
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
