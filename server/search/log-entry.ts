/** The JSON of a log entry. */

import type { FoundRow } from "../../engine/index.ts";

const nsPerMs = 1_000_000n;

/** Follows the interface specification, section 2.4. Times are rounded down to milliseconds. */
export function formatLogEntry(row: FoundRow): string {
  const timestamp = Number(row.timeNs / nsPerMs);
  return JSON.stringify({
    timestamp,
    log_level: row.level,
    message: row.message,
    attributes: row.attributes,
  });
}
