/** Reads documents into log rows. */

import type { DocumentNames, LogRow } from "../../../engine/index.ts";
import { idKey, indexKey } from "../documents/document-list.ts";
import { isoNanos } from "../iso-time.ts";
import {
  flattenFields,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  type OnNumber,
  readJsonRow,
  textOf,
} from "../json/json-row.ts";
import { messageNames } from "../loggers/field-names.ts";
import { levelNames, levelOfAttributes, severityNumberNames } from "../loggers/level.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, listServiceNames, serviceKey, syslogServiceNames } from "../service-name.ts";
import type { BulkAction } from "./action.ts";

const timeKeys = ["@timestamp", "timestamp", "time"] as const;

/** The names by which `readDocument` finds the fields of a document. */
export const documentNames: DocumentNames = {
  time: timeKeys,
  message: messageNames,
  level: levelNames,
  levelNumber: severityNumberNames,
  unusual: [idKey, ""],
  ...listServiceNames(syslogServiceNames),
};

/** Reads a document. Its index and its id, if it has one, become attributes. */
export function readDocument(
  text: string,
  { index, id }: Pick<BulkAction, "index" | "id">,
  sink: RowSink,
): LogRow {
  return readJsonRow(text, (json, onNumber) => {
    const time = findTime(json, onNumber);
    // Filebeat and Logstash name it `message`, Fluent Bit `log`, syslog-ng and journald `MESSAGE`.
    const messageKey = messageNames.find((key) => typeof json[key] === "string");
    const used = new Set([time?.key ?? "", messageKey ?? "", idKey]);
    const attributes = flattenFields(json, used, onNumber);
    if (index !== "") attributes[indexKey] ??= index;
    // A field of this name is no id of the document.
    const ownField = textOf(json[idKey], onNumber);
    if (ownField !== null) attributes[`attributes.${idKey}`] = ownField;
    if (id !== "") attributes[idKey] = id;
    const name = agentServiceName(attributes, syslogServiceNames);
    if (name !== undefined) attributes[serviceKey] = name;
    return {
      level: levelOfAttributes(attributes),
      message: messageKey === undefined ? "" : (textOf(json[messageKey], onNumber) ?? ""),
      attributes,
      timeNs: time?.nanos ?? sink.arrivalNs(),
    };
  });
}

/**
 * Finds the time in the first field that holds one. A field with anything else is an attribute, but a wrong
 * `@timestamp` throws RowProblem.
 */
function findTime(json: JsonFields, onNumber: OnNumber): { key: string; nanos: bigint } | undefined {
  for (const key of timeKeys) {
    const nanos = isGiven(json[key]) ? nanosOf(json[key], onNumber) : undefined;
    if (nanos !== undefined) return { key, nanos };
    if (key !== "@timestamp" || !isGiven(json[key])) continue;
    throw makeFieldProblem(
      key,
      "a date such as 2026-01-31T12:00:00.000Z, or Unix time in milliseconds",
      json[key],
    );
  }
  return undefined;
}

/** Parses a date or milliseconds since the epoch, as Elasticsearch's `date` fields do. */
function nanosOf(value: unknown, onNumber: OnNumber): bigint | undefined {
  const micros = typeof value === "number" ? Math.round(value * 1000) : Number.NaN;
  if (Number.isFinite(micros)) {
    onNumber(value as number);
    return BigInt(micros) * 1_000n;
  }
  if (typeof value !== "string") return undefined;
  return isoNanos(value) ?? (/^\d{1,15}$/.test(value) ? BigInt(value) * 1_000_000n : undefined);
}
