import { STATUS_CODES } from "node:http";

/** `404 Not Found`, as the status line of an answer has it. */
export function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? "Unknown"}`;
}
