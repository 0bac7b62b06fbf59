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
import type { RowSink } from "../row-sink.ts";
import {
  type Attributes,
  addAttributes,
  countOf,
  pairsJson,
  putAttribute,
  stringOf,
  timeOf,
  toObject,
  toObjects,
} from "./json-value.ts";
import { droppedKeys, endsBeforeStartKey } from "./lost-parts.ts";
import { joinJson, linkJson } from "./span-lists.ts";

/** Makes a row of a span in its JSON form. Throws RowProblem. */
export function spanRowOf(
  span: JsonFields,
  attributes: Attributes,
  sink: Pick<RowSink, "cutElements">,
): LogRow {
  const start = timeOf(span, "startTimeUnixNano");
  if (start === 0n) throw new RowProblem("field", "startTimeUnixNano is required");
  const end = timeOf(span, "endTimeUnixNano");
  const status = toObject(span.status, "status");
  const fromFields = {
    trace_id: idOf(span, "traceId", traceIdDigits),
    span_id: idOf(span, "spanId", spanIdDigits),
    parent_span_id: parentOf(span),
    name: stringOf(span.name, "name"),
    kind: kindOf(span),
    status_code: status === undefined ? null : statusOf({ statusCode: status.code ?? 0 }),
    status_message: stringOf(status?.message, "status.message"),
    duration_ms: end === 0n ? null : durationText(Number(end > start ? end - start : 0n)),
  } satisfies Record<(typeof spanKeys)[number], string | null>;
  addAttributes(attributes, span.attributes, "attributes");
  const state = stringOf(span.traceState, "traceState");
  if (state !== "") putAttribute(attributes, "trace_state", state);
  const putList = (key: string, elements: readonly string[]): number => {
    if (elements.length === 0) return 0;
    const { json, cut } = joinJson(elements);
    putAttribute(attributes, key, json);
    sink.cutElements += cut;
    return cut;
  };
  const dropped = [
    countOf(span, "droppedAttributesCount"),
    countOf(span, "droppedEventsCount") + putList("events", toObjects(span.events, "events").map(eventJson)),
    countOf(span, "droppedLinksCount") + putList("links", toObjects(span.links, "links").map(linkTextOf)),
  ];
  for (const [i, key] of droppedKeys.entries())
    if (dropped[i]! > 0) putAttribute(attributes, key, String(dropped[i]));
  if (end !== 0n && end < start) putAttribute(attributes, endsBeforeStartKey, "true");
  for (const key of spanKeys)
    if ((fromFields[key] ?? "") !== "") putAttribute(attributes, key, fromFields[key]!);
  return { timeNs: start, level: "", message: "", attributes: attributes.texts };
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
