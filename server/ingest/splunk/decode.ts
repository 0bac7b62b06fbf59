/**
 * Decodes bodies of Splunk's HTTP event collector into log rows: events in JSON, and raw lines. The names of attributes
 * are those of OpenTelemetry's receiver.
 */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyTask } from "../decode-task.ts";
import {
  flattenFields,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  type OnNumber,
  RowProblem,
  textOf,
} from "../json/json-row.ts";
import { readJsonObjects } from "../json/read-objects.ts";
import { forEachLine } from "../json/row-splitter.ts";
import { levelOfAttributes } from "../loggers/level.ts";
import { readTime, timeExpected } from "../loggers/log-time.ts";
import { readUntimedFields, type UntimedRow } from "../loggers/logger-row.ts";
import { readTextLine } from "../loggers/text-line.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";

/** The attribute of each field that describes where an event comes from. */
export const originKeys = {
  host: "host.name",
  source: "com.splunk.source",
  sourcetype: "com.splunk.sourcetype",
  index: "com.splunk.index",
} as const;
const originNames = Object.keys(originKeys) as (keyof typeof originKeys)[];

/** How the reasons begin that have a code of their own in Splunk's answers. */
export const eventProblems = { missing: "event is required", blank: "event must not be blank" } as const;

/** How much of a line is searched for a time and a level, in characters. */
const lineHeadLength = 1_000;

const noFields: ReadonlySet<string> = new Set();
/** The `event` of samples, which this format cannot store. */
const metricEvent = "metric";

export function readSplunkEvents(body: Buffer, sink: RowSink): void {
  readJsonObjects(body, sink, (json, onNumber) => readEvent(json, onNumber, sink));
}

/** Each line is an event; the parameters of the task say where all of them come from. */
export function readSplunkLines(body: Buffer, sink: RowSink, { parameters = {} }: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const copyCost = Object.values(parameters).reduce((sum, { length }) => sum + length, 0);
  forEachLine(body, 0, (from, to, line) => {
    sink.countRepeatedBytes(copyCost);
    const text = body.toString("utf8", from, to).replace(/\r$/, "");
    const { level, timeNs } = readTextLine(text.slice(0, lineHeadLength), sink.arrivalMs);
    const row = { timeNs: timeNs ?? sink.arrivalNs(), level, message: text, attributes: parameters };
    sink.refuseLineOnProblem(line, () => sink.addUncounted(row));
  });
}

function readEvent(json: JsonFields, onNumber: OnNumber, sink: RowSink): LogRow {
  const { event, fields, time } = json;
  checkEvent(event, fields);
  const row = readContent(event, onNumber);
  for (const name of originNames) {
    const text = textOf(json[name], onNumber);
    if (text !== null && text !== "") row.attributes[originKeys[name]] = text;
  }
  const indexed = isGiven(fields) ? flattenFields(fields as JsonFields, noFields, onNumber) : {};
  Object.assign(row.attributes, indexed);
  const name = agentServiceName(row.attributes);
  if (name !== undefined) row.attributes[serviceKey] = name;
  const level = row.level === "" ? levelOfAttributes(row.attributes) : row.level;
  return { ...row, level, timeNs: readEventTime(time) ?? sink.arrivalNs() };
}

/** Throws RowProblem. */
function checkEvent(event: unknown, fields: unknown): void {
  if (!isGiven(event)) throw new RowProblem("field", `${eventProblems.missing}: a text or an object`);
  if (event === "") throw new RowProblem("field", eventProblems.blank);
  const areFields = !isGiven(fields) || (typeof fields === "object" && !Array.isArray(fields));
  if (!areFields) throw makeFieldProblem("fields", "an object", fields);
  if (event === metricEvent && isGiven(fields)) {
    throw new RowProblem(
      "field",
      "an event of samples: metrics are taken by POST /v1/metrics, /api/v1/write and /api/v2/write",
    );
  }
}

/** An event that is an object is read as the line of a logger; its own time, if it has one, stays an attribute. */
function readContent(event: unknown, onNumber: OnNumber): UntimedRow {
  if (typeof event === "object" && !Array.isArray(event))
    return readUntimedFields(event as JsonFields, {}, onNumber);
  return { level: "", message: textOf(event, onNumber) ?? "", attributes: Object.create(null) };
}

/** Undefined where there is none. Throws RowProblem. */
function readEventTime(time: unknown): bigint | undefined {
  if (!isGiven(time)) return undefined;
  const found = typeof time === "object" ? undefined : readTime(time);
  if (found === undefined) throw makeFieldProblem("time", timeExpected, time);
  return found.nanos;
}
