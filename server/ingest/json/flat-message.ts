/**
 * Flattens log messages that are JSON objects into attributes, where the sender or the server's setting asks for it.
 */

import type { BatchBuilder, LogRow, RowRanges } from "../../../engine/index.ts";
import { levelOfAttributes } from "../loggers/level.ts";
import { flattenFields, isGiven, type JsonFields, RowProblem, readJsonRow, textOf } from "./json-row.ts";

const openingBrace = 0x7b;
/** The field that becomes the row's message: the first that is present. */
const messageKeys = ["msg", "message"];

/** Returns whether the message may be a JSON object: its first byte is a brace. */
export function canBeJson(row: RowRanges, bytes: Uint8Array): boolean {
  return row.messageTo > row.messageFrom && bytes[row.messageFrom] === openingBrace;
}

/** Decodes a row from ranges of bytes into texts. */
export function toLogRow(row: RowRanges, bytes: Buffer, builder: BatchBuilder): LogRow {
  const attributes: Record<string, string> = Object.create(null);
  for (let i = 0; i < row.attributes; i++) {
    attributes[builder.keyText(row.keys[i]!)] = bytes.toString("utf8", row.from[i]!, row.to[i]!);
  }
  return {
    timeNs: BigInt(row.seconds) * 1_000_000_000n + BigInt(row.nanos),
    level: bytes.toString("utf8", row.levelFrom, row.levelTo),
    message: bytes.toString("utf8", row.messageFrom, row.messageTo),
    attributes,
  };
}

/**
 * Returns the row with the members of its message as attributes, nested names joined with dots. A name that the row
 * already has gets the suffix `_extracted`. A message that is no JSON object leaves the row unchanged.
 */
export function flattenMessage(row: LogRow): LogRow {
  if (row.message.charCodeAt(0) !== openingBrace) return row;
  try {
    return readJsonRow(row.message, (json, onNumber) => {
      const messageKey = messageKeys.find((key) => isGiven(json[key]) && typeof json[key] !== "object");
      const flat = flattenFields(json, new Set(messageKey === undefined ? [] : [messageKey]), onNumber);
      const attributes: Record<string, string> = Object.assign(Object.create(null), row.attributes);
      for (const key in flat) {
        attributes[Object.hasOwn(row.attributes, key) ? `${key}_extracted` : key] = flat[key]!;
      }
      const message =
        messageKey === undefined ? row.message : textOf((json as JsonFields)[messageKey], onNumber)!;
      const level = row.level === "" ? levelOfAttributes(flat) : row.level;
      return { timeNs: row.timeNs, level, message, attributes };
    });
  } catch (problem) {
    if (problem instanceof RowProblem) return row;
    throw problem;
  }
}
