/** The names under which loggers write the time, the level and the message of a log line, and the loggers' forms. */

import { isGiven, type JsonFields } from "../json/json-row.ts";

/** Names that the sender gives; a name with dots is also looked for in nested objects. Absent: the known names. */
export interface LogFieldNames {
  time?: string | undefined;
  level?: string | undefined;
  message?: string | undefined;
}

/** In the order of preference, as all lists of names here. */
export const timeNames = [
  ...["timeUnixNano", "@timestamp", "timestamp", "time", "ts", "@t", "instant", "timeMillis", "Timestamp"],
  ...["__REALTIME_TIMESTAMP", "eventTime", "datetime", "asctime", "date"],
] as const;
/** A row whose field of such a name is no time keeps it as an attribute, since these names have other uses, too. */
export const looseTimeNames: ReadonlySet<string> = new Set([
  ...["Timestamp", "eventTime", "datetime", "asctime", "date"],
]);
export const messageNames = [
  ...[
    "message",
    "msg",
    "textPayload",
    "jsonPayload.message",
    "jsonPayload.msg",
    "log",
    "@m",
    "@mt",
    "@message",
  ],
  ...["event", "body", "short_message", "MESSAGE", "RenderedMessage", "Message", "MessageTemplate"],
  ...["fields.message"],
] as const;

/** A row of svc's own form may have any other name as an attribute; only these names show another logger's form. */
export const loggerNames: ReadonlySet<string> = new Set([
  ...["@timestamp", "time", "ts", "@t", "instant", "timeMillis", "__REALTIME_TIMESTAMP"],
  ...["level", "severity", "log.level", "severity_text", "severityText", "severity_number", "severityNumber"],
  ...["levelname", "loglevel", "lvl", "@l", "LogLevel", "@fields", "PRIORITY"],
  ...["msg", "log", "textPayload", "jsonPayload", "@m", "@mt", "@message", "short_message", "MESSAGE"],
  ...["RenderedMessage", "MessageTemplate"],
]);

/**
 * Where rows of other signals go, by a field that no log row has. `startTimeUnixNano` is a span's only beside `traceId`.
 */
const otherSignals: Readonly<Record<string, string>> = {
  startTimeUnixNano: "a span: spans go to POST /api/v1/ingest/spans (svc ingest --signal spans)",
  resourceSpans: "spans of OTLP, which go to POST /v1/traces",
  resourceLogs: "logs of OTLP, which go to POST /v1/logs",
  resourceMetrics: "metrics of OTLP, which go to POST /v1/metrics",
};
/** The fields by which `findOtherSignal` knows rows of other signals. */
export const otherSignalNames: ReadonlySet<string> = new Set(Object.keys(otherSignals));

/** Why a JSON object is no log row, with the right way for it; undefined for a log row. */
export function findOtherSignal(json: JsonFields): string | undefined {
  for (const name in otherSignals) {
    const isOther = isGiven(json[name]) && (name !== "startTimeUnixNano" || isGiven(json.traceId));
    if (isOther) return `${name} belongs to ${otherSignals[name]}`;
  }
  return undefined;
}

/**
 * Returns whether the row is in the form of a logger: it has a field of `loggerNames`, or a `timestamp` that is no
 * integer. A row with `attributes`, `log_level` or `timeUnixNano` is in svc's own form.
 */
export function isLoggerRow(json: JsonFields): boolean {
  if (isGiven(json.attributes) || isGiven(json.log_level) || isGiven(json.timeUnixNano)) return false;
  if (isGiven(json.timestamp) && !Number.isInteger(json.timestamp)) return typeof json.timestamp !== "bigint";
  for (const key in json) if (loggerNames.has(key)) return true;
  return false;
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

/** Loggers by the fields of their rows: the first that fits. */
const forms: readonly (readonly [name: string, ...fields: string[]])[] = [
  ["Docker's json-file", "log", "stream", "time"],
  ["ECS", "ecs.version"],
  ["ECS", "@timestamp", "log.level"],
  ["Logstash", "@timestamp", "@version"],
  ["log4j2", "instant"],
  ["log4j2", "timeMillis"],
  ["journald", "__REALTIME_TIMESTAMP"],
  ["GELF", "short_message"],
  ["Google Cloud", "severity", "textPayload"],
  ["Google Cloud", "severity", "jsonPayload"],
  ["Google Cloud", "severity", "message"],
  ["zap", "ts", "msg"],
  ["logrus or slog", "level", "msg", "time"],
  ["zerolog", "level", "message", "time"],
  ["winston", "level", "message"],
  ["structlog", "level", "event"],
  ["tracing", "level", "fields.message"],
  ["winston", "@fields", "@message"],
  ["Serilog", "@t"],
  ["Serilog", "MessageTemplate"],
  [".NET", "LogLevel", "Message"],
];

/** The name of the logger whose form the row has. */
export function formOf(json: JsonFields): string {
  const has = (fields: readonly string[]) => fields.every((name) => isGiven(valueAt(json, name)));
  if (typeof json.level === "number") {
    if (has(["v", "name", "hostname", "pid"])) return "bunyan";
    if (has(["time"])) return "pino";
  }
  return forms.find(([, ...fields]) => has(fields))?.[0] ?? "JSON lines";
}
