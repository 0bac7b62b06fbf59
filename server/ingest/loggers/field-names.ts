/** The names under which loggers write the time, the level and the message of a log line, and the loggers' forms. */

import { isGiven, type JsonFields } from "../json/json-row.ts";

/** Names that the sender gives; a name with dots is also looked for in nested objects. Absent: the known names. */
export interface LogFieldNames {
  time?: string | undefined;
  level?: string | undefined;
  message?: string | undefined;
}

export const timeNames = [
  ...["@timestamp", "timestamp", "time", "ts", "@t", "instant", "timeMillis", "eventTime", "datetime"],
  ...["asctime", "date"],
] as const;
/** A row whose field of such a name is no time keeps it as an attribute, since these names have other uses, too. */
export const looseTimeNames: ReadonlySet<string> = new Set(["datetime", "asctime", "date", "eventTime"]);
export const levelNames = [
  ...["log_level", "level", "severity", "log.level", "severity_text", "severityText", "levelname"],
  ...["loglevel", "lvl", "@l"],
] as const;
export const severityNumberNames = ["severity_number", "severityNumber"] as const;
export const messageNames = [
  ...["message", "msg", "textPayload", "jsonPayload.message", "jsonPayload.msg", "log", "@m", "@mt", "event"],
  ...["body", "short_message"],
] as const;

/** A row of svc's own form may have any other name as an attribute; only these names show another logger's form. */
export const loggerNames: ReadonlySet<string> = new Set([
  ...["@timestamp", "time", "ts", "@t", "instant", "timeMillis", "level", "severity", "log.level", "log"],
  ...["severity_text", "severityText", "severity_number", "severityNumber", "levelname", "loglevel", "lvl"],
  ...["@l", "msg", "textPayload", "jsonPayload", "@m", "@mt"],
]);

/** Fields of spans: a row with the first two, or one of the others, is no log row. */
export const spanNames: ReadonlySet<string> = new Set(["startTimeUnixNano", "resourceSpans"]);

/**
 * Returns whether the row is read as a logger's. A row with svc's own `attributes`, `log_level` or `timeUnixNano` is
 * not, and neither is one that has no name of another logger.
 */
export function isLoggerRow(json: JsonFields): boolean {
  if (isGiven(json.attributes) || isGiven(json.log_level) || isGiven(json.timeUnixNano)) return false;
  if (isGiven(json.timestamp) && !Number.isInteger(json.timestamp)) return typeof json.timestamp !== "bigint";
  for (const key in json) if (loggerNames.has(key)) return true;
  return false;
}

export function isSpan(json: JsonFields): boolean {
  return isGiven(json.resourceSpans) || (isGiven(json.startTimeUnixNano) && isGiven(json.traceId));
}

/** The value under a name, or under the parts of the name in nested objects. */
export function valueAt(json: JsonFields, name: string): unknown {
  if (isGiven(json[name])) return json[name];
  const dot = name.indexOf(".");
  if (dot < 0) return undefined;
  const inner = json[name.slice(0, dot)];
  if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return undefined;
  return valueAt(inner as JsonFields, name.slice(dot + 1));
}

/** The name of the logger whose form the row has. */
export function formOf(json: JsonFields): string {
  const has = (...names: string[]) => names.every((name) => isGiven(valueAt(json, name)));
  const isNumbered = typeof json.level === "number";
  if (isNumbered && has("v", "name", "hostname", "pid")) return "bunyan";
  if (isNumbered && has("time")) return "pino";
  if (has("log", "stream", "time")) return "Docker's json-file";
  if (has("ecs.version") || has("@timestamp", "log.level")) return "ECS";
  if (has("instant") || has("timeMillis")) return "log4j2";
  if (has("severity") && (has("textPayload") || has("jsonPayload") || has("message"))) return "Google Cloud";
  if (has("ts", "msg")) return "zap";
  if (has("level", "msg", "time")) return "logrus";
  if (has("level", "message", "time")) return "zerolog";
  if (has("level", "message")) return "winston";
  if (has("@t")) return "Serilog";
  return "JSON lines";
}
