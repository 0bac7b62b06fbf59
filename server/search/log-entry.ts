/** The JSON of a log entry, and of a row that is a body and attributes. */

import type { FoundRow } from "../../engine/index.ts";
import { writeRowId } from "../../query/index.ts";

const nsPerMs = 1_000_000n;

/** Follows the interface specification, section 2.4; `ids` adds the row's id. Times are rounded down to milliseconds. */
export function formatLogEntry(row: FoundRow, ids = false): string {
  const timestamp = Number(row.timeNs / nsPerMs);
  return JSON.stringify({
    id: ids ? writeRowId(row) : undefined,
    timestamp,
    log_level: row.level,
    message: row.message,
    attributes: row.attributes,
  });
}

/** The body is the JSON text that was sent. */
export function formatBodyEntry(row: FoundRow, ids = false): string {
  const { timeNs, message, attributes } = row;
  return JSON.stringify({
    id: ids ? writeRowId(row) : undefined,
    timestamp: Number(timeNs / nsPerMs),
    body: message,
    attributes,
  });
}
