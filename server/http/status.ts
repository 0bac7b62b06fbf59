/** Status lines of answers. */

import { STATUS_CODES } from "node:http";

/** The status with its reason phrase: `404 Not Found`. */
export function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? "Unknown"}`;
}
