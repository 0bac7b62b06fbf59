import { coloured, levelColour, safe, safeLine } from "./terminal.ts";

/** A log entry as the API gives it. */
export interface LogEntry {
  timestamp: number;
  log_level: string;
  message: string;
  attributes: Record<string, string>;
}

const levelWidth = 5;

/** Time, level, service and message; further lines of the message are indented under it. */
export function logLine(entry: LogEntry, inColour: boolean): string {
  const time = new Date(entry.timestamp).toISOString();
  const level = safeLine(entry.log_level === "" ? "-" : entry.log_level).padEnd(levelWidth);
  const service = safeLine(entry.attributes["service.name"] ?? "-");
  const [first = "", ...more] = safe(entry.message.replaceAll("\r\n", "\n").trimEnd()).split("\n");
  const head = inColour
    ? `${coloured(time, "grey")} ${coloured(level, levelColour(entry.log_level))} ${coloured(service, "blue")} ${first}`
    : `${time} ${level} ${service} ${first}`;
  return [head, ...more.map((line) => `    ${line}`)].join("\n");
}
