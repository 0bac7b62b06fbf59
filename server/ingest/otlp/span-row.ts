/** Reads an OTLP span from JSON. */

import type { LogRow } from "../../../engine/index.ts";
import { type JsonFields, RowProblem } from "../json/json-row.ts";
import {
  durationText,
  idOf,
  kindOf,
  parentOf,
  spanIdDigits,
  spanKeys,
  statusOf,
  traceIdDigits,
} from "../json/span-row.ts";
import {
  type Attributes,
  addAttributes,
  pairsJson,
  putAttribute,
  stringOf,
  timeOf,
  toObject,
  toObjects,
} from "./json-value.ts";
import { joinJson, linkJson } from "./span-lists.ts";

/** Makes a row of a span in its JSON form. Throws RowProblem. */
export function spanRowOf(span: JsonFields, attributes: Attributes): LogRow {
  const start = timeOf(span, "startTimeUnixNano");
  if (start === 0n) throw new RowProblem("field", "startTimeUnixNano is required");
  const status = toObject(span.status, "status");
  const fromFields = {
    trace_id: idOf(span, "traceId", traceIdDigits),
    span_id: idOf(span, "spanId", spanIdDigits),
    parent_span_id: parentOf(span),
    name: stringOf(span.name, "name"),
    kind: kindOf(span),
    status_code: status === undefined ? null : statusOf({ statusCode: status.code ?? 0 }),
    status_message: stringOf(status?.message, "status.message"),
    duration_ms: durationOf(span, start),
  } satisfies Record<(typeof spanKeys)[number], string | null>;
  addAttributes(attributes, span.attributes, "attributes");
  const state = stringOf(span.traceState, "traceState");
  if (state !== "") putAttribute(attributes, "trace_state", state);
  const events = toObjects(span.events, "events").map(eventJson);
  if (events.length > 0) putAttribute(attributes, "events", joinJson(events));
  const links = toObjects(span.links, "links").map(linkTextOf);
  if (links.length > 0) putAttribute(attributes, "links", joinJson(links));
  for (const key of spanKeys)
    if ((fromFields[key] ?? "") !== "") putAttribute(attributes, key, fromFields[key]!);
  return { timeNs: start, level: "", message: "", attributes: attributes.texts };
}

function durationOf(span: JsonFields, start: bigint): string | null {
  const end = timeOf(span, "endTimeUnixNano");
  if (end === 0n) return null;
  if (end >= start) return durationText(Number(end - start));
  throw new RowProblem("field", "endTimeUnixNano is before startTimeUnixNano");
}

function eventJson(event: JsonFields): string {
  const time = timeOf(event, "timeUnixNano");
  const name = JSON.stringify(stringOf(event.name, "events.name"));
  return `{"timeUnixNano":"${time}","name":${name},"attributes":${pairsJson(event.attributes, "events.attributes")}}`;
}

function linkTextOf(link: JsonFields): string {
  const ids = {
    traceId: idOf(link, "traceId", traceIdDigits),
    spanId: idOf(link, "spanId", spanIdDigits),
    traceState: stringOf(link.traceState, "links.traceState"),
  };
  return linkJson(ids, pairsJson(link.attributes, "links.attributes"));
}
