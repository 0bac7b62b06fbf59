/** Reads an OTLP log record from JSON. */

import { type LogRow, severityRanges } from "../../../engine/index.ts";
import { isGiven, type JsonFields, scalarText } from "../json/json-row.ts";
import { spanIdDigits, traceIdDigits } from "../json/span-row.ts";
import type { RowSink } from "../row-sink.ts";
import {
  type Attributes,
  addAttributes,
  countOf,
  integerOf,
  putAttribute,
  stringOf,
  timeOf,
  toObject,
  valueText,
} from "./json-value.ts";
import { droppedKeys } from "./lost-parts.ts";
import { severityIndex } from "./severity.ts";

/** Makes a row of a log record in its JSON form. Throws RowProblem. */
export function logRowOf(
  record: JsonFields,
  attributes: Attributes,
  sink: Pick<RowSink, "arrivalNs">,
): LogRow {
  addAttributes(attributes, record.attributes, "attributes");
  const fields: [string, string][] = [
    ["trace_id", idOf(record, "traceId", traceIdDigits)],
    ["span_id", idOf(record, "spanId", spanIdDigits)],
    ["event.name", stringOf(record.eventName, "eventName")],
  ];
  for (const [key, text] of fields) if (text !== "") putAttribute(attributes, key, text);
  const dropped = countOf(record, "droppedAttributesCount");
  if (dropped > 0) putAttribute(attributes, droppedKeys[0], String(dropped));
  return {
    level: stringOf(record.severityText, "severityText") || severityOf(record),
    message: valueText(toObject(record.body, "body"), "body") ?? "",
    attributes: attributes.texts,
    timeNs: timeOf(record, "timeUnixNano") || timeOf(record, "observedTimeUnixNano") || sink.arrivalNs(),
  };
}

function severityOf({ severityNumber: value }: JsonFields): string {
  if (!isGiven(value)) return "";
  const fields = /^SEVERITY_NUMBER_([A-Z]+)\d?$/.exec(scalarText(value))?.[1]?.toLowerCase();
  if (fields !== undefined) return fields === "unspecified" ? "" : fields;
  return severityRanges[severityIndex(Number(integerOf(value, "severityNumber")))] ?? "";
}

/**
 * Anything that is not an id, or an id of zeros only, counts as none (specification of logs, "trace context fields").
 */
function idOf(record: JsonFields, name: string, digits: number): string {
  const id = stringOf(record[name], name).toLowerCase();
  return id.length === digits && /^[0-9a-f]*$/.test(id) && !/^0*$/.test(id) ? id : "";
}
