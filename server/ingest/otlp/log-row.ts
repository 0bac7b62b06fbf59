import type { LogRow } from "../../../engine/index.ts";
import { isGiven, type JsonFields } from "../json/json-row.ts";
import { spanIdDigits, traceIdDigits } from "../json/span-row.ts";
import type { RowSink } from "../row-sink.ts";
import {
  type Attributes,
  addAttributes,
  integerOf,
  memberNamed,
  putAttribute,
  stringOf,
  valueText,
} from "./json-value.ts";
import { severityNames, severityPlace } from "./severity.ts";

/** A log record in its JSON form. Throws RowProblem. */
export function logRowOf(record: JsonFields, attributes: Attributes, sink: RowSink): LogRow {
  addAttributes(attributes, record.attributes, "attributes");
  const named: [string, string][] = [
    ["trace_id", idOf(record, "traceId", traceIdDigits)],
    ["span_id", idOf(record, "spanId", spanIdDigits)],
    ["event.name", stringOf(record.eventName, "eventName")],
  ];
  for (const [key, text] of named) if (text !== "") putAttribute(attributes, key, text);
  return {
    level: stringOf(record.severityText, "severityText") || severityOf(record),
    message: valueText(memberNamed(record.body, "body"), "body") ?? "",
    attributes: attributes.texts,
    timeNs: timeOf(record, "timeUnixNano") || timeOf(record, "observedTimeUnixNano") || sink.arrivalNs(),
  };
}

function severityOf({ severityNumber: value }: JsonFields): string {
  if (!isGiven(value)) return "";
  const named = /^SEVERITY_NUMBER_([A-Z]+)\d?$/.exec(String(value))?.[1]?.toLowerCase();
  if (named !== undefined) return named === "unspecified" ? "" : named;
  return severityNames[severityPlace(Number(integerOf(value, "severityNumber")))] ?? "";
}

function timeOf(record: JsonFields, name: string): bigint {
  return isGiven(record[name]) ? integerOf(record[name], name) : 0n;
}

/** What is no id, or one of zeros, is none (specification of logs, "trace context fields"). */
function idOf(record: JsonFields, name: string, digits: number): string {
  const id = stringOf(record[name], name).toLowerCase();
  return id.length === digits && /^[0-9a-f]*$/.test(id) && !/^0*$/.test(id) ? id : "";
}
