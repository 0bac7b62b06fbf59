/** Log lines that are JSON objects: their members become attributes of the row, where a source asks for it. */

import type { BatchBuilder, LogRow, RowRanges } from "../../../engine/index.ts";
import { flatFields, isGiven, type JsonFields, RowProblem, readJsonRow, textOf } from "./json-row.ts";

const openingBrace = 0x7b;
/** What the row's message is then, the first that is there. */
const messageKeys = ["msg", "message"];
/** What tells the level of a row that was sent without one, the first that is there; it stays an attribute, too. */
const levelKeys = ["level", "log.level", "log_level", "severity"];
/** Levels of pino and bunyan. */
const levelNumbers: Readonly<Record<string, string>> = {
  "10": "trace",
  "20": "debug",
  "30": "info",
  "40": "warn",
  "50": "error",
  "60": "fatal",
};

/** Whether the message of a row in bytes may be such a line. */
export function mayBeJson(row: RowRanges, bytes: Uint8Array): boolean {
  return row.messageTo > row.messageFrom && bytes[row.messageFrom] === openingBrace;
}

/** A row in bytes as text. */
export function rowOfRanges(row: RowRanges, bytes: Buffer, draft: BatchBuilder): LogRow {
  const attributes: Record<string, string> = Object.create(null);
  for (let i = 0; i < row.attributes; i++) {
    attributes[draft.keyText(row.keys[i]!)] = bytes.toString("utf8", row.from[i]!, row.to[i]!);
  }
  return {
    timeNs: BigInt(row.seconds) * 1_000_000_000n + BigInt(row.nanos),
    level: bytes.toString("utf8", row.levelFrom, row.levelTo),
    message: bytes.toString("utf8", row.messageFrom, row.messageTo),
    attributes,
  };
}

/**
 * The row with the members of its message as attributes, flattened with dots; a name that stands already gets `_extracted` behind
 * it. A message that is no JSON object leaves the row as it is.
 */
export function flattenedRow(row: LogRow): LogRow {
  if (row.message.charCodeAt(0) !== openingBrace) return row;
  try {
    return readJsonRow(row.message, (json, onNumber) => {
      const messageKey = messageKeys.find((key) => isGiven(json[key]) && typeof json[key] !== "object");
      const found = flatFields(json, new Set(messageKey === undefined ? [] : [messageKey]), onNumber);
      const attributes: Record<string, string> = Object.assign(Object.create(null), row.attributes);
      for (const key in found) {
        attributes[row.attributes[key] === undefined ? key : `${key}_extracted`] = found[key]!;
      }
      const message =
        messageKey === undefined ? row.message : textOf((json as JsonFields)[messageKey], onNumber)!;
      return {
        timeNs: row.timeNs,
        level: row.level === "" ? levelOf(found) : row.level,
        message,
        attributes,
      };
    });
  } catch (problem) {
    if (problem instanceof RowProblem) return row;
    throw problem;
  }
}

function levelOf(found: Readonly<Record<string, string>>): string {
  const key = levelKeys.find((each) => (found[each] ?? "") !== "");
  const level = key === undefined ? "" : found[key]!;
  return levelNumbers[level] ?? level;
}
