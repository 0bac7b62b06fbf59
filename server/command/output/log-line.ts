/** A log entry as text. */

import { addColour, colourOfLevel, escapeLine, escapeText, type LineStyle } from "./terminal.ts";

/** A log entry in an answer of the API. */
export interface LogEntry {
  timestamp: number;
  log_level: string;
  message: string;
  attributes: Record<string, string>;
}

const levelWidth = 5;

/** Formats time, level, service and message; further lines of the message are indented. */
export function formatLogLine(entry: LogEntry, { inColour, zone }: LineStyle): string {
  const time = zone.print(entry.timestamp);
  const level = escapeLine(entry.log_level === "" ? "-" : entry.log_level).padEnd(levelWidth);
  const service = escapeLine(entry.attributes["service.name"] ?? "-");
  const [first = "", ...more] = escapeText(entry.message.replaceAll("\r\n", "\n").trimEnd()).split("\n");
  const head = inColour
    ? `${addColour(time, "grey")} ${addColour(level, colourOfLevel(entry.log_level))} ${addColour(service, "blue")} ${first}`
    : `${time} ${level} ${service} ${first}`;
  return [head, ...more.map((line) => `    ${line}`)].join("\n");
}
