/**
 * Reads a span from its JSON object. A span is a row whose fields (ids, name, times) become attributes beside its own.
 */

import type { LogRow } from "../../../engine/index.ts";
import { describeValue } from "../../text/quote.ts";
import {
  attributesOf,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  nanosOf,
  type OnNumber,
  RowProblem,
  readJsonRow,
  scalarText,
  textOf,
} from "./json-row.ts";

/** Attributes that come from a span's fields. A span's own attribute of such a name becomes `attributes.<name>`. */
export const spanKeys = [
  "trace_id",
  "span_id",
  "parent_span_id",
  "name",
  "kind",
  "status_code",
  "status_message",
  "duration_ms",
] as const;

export const traceIdDigits = 32;
export const spanIdDigits = 16;
/** Span kinds in the order of OpenTelemetry's numbers from 1 on; 0 is "unspecified". */
export const spanKinds = ["internal", "server", "client", "producer", "consumer"] as const;
/** Status codes in the order of OpenTelemetry's numbers, from 0. */
export const statusCodes = ["unset", "ok", "error"] as const;

export const spanKeySet: ReadonlySet<string> = new Set(spanKeys);
const fields = new Set([
  "traceId",
  "spanId",
  "parentSpanId",
  "name",
  "kind",
  "startTimeUnixNano",
  "endTimeUnixNano",
  "statusCode",
  "statusMessage",
]);

/** Reads one span; `text` is one JSON object. Throws RowProblem. */
export function readSpanRow(text: string): LogRow {
  return readJsonRow(text, (json, onNumber) => {
    const timeNs = nanosOf(json, "startTimeUnixNano", onNumber);
    const fromFields = {
      trace_id: idOf(json, "traceId", traceIdDigits),
      span_id: idOf(json, "spanId", spanIdDigits),
      parent_span_id: parentOf(json),
      name: textOf(json.name, onNumber),
      kind: kindOf(json),
      status_code: statusOf(json),
      status_message: textOf(json.statusMessage, onNumber),
      duration_ms: durationOf(json, timeNs, onNumber),
    } satisfies Record<(typeof spanKeys)[number], string | null>;
    const attributes: Record<string, string> = Object.create(null);
    const attributesSent = attributesOf(json, "attributes", fields, onNumber);
    for (const key in attributesSent)
      attributes[spanKeySet.has(key) ? `attributes.${key}` : key] ??= attributesSent[key]!;
    for (const key of spanKeys) if ((fromFields[key] ?? "") !== "") attributes[key] = fromFields[key]!;
    return { timeNs, level: "", message: "", attributes };
  });
}

/** Reads an id in hexadecimal digits; null for all zeros, which stand for no id. Throws RowProblem. */
function idText(json: JsonFields, name: string, digits: number): string | null {
  const value = json[name];
  if (typeof value !== "string" || value.length !== digits || !/^[0-9a-f]*$/i.test(value)) {
    throw makeFieldProblem(name, `${digits} hexadecimal digits`, value);
  }
  return /^0*$/.test(value) ? null : value.toLowerCase();
}

export function idOf(json: JsonFields, name: string, digits: number): string {
  const id = idText(json, name, digits);
  if (id === null) throw new RowProblem("field", `${name} must not be all zeros`);
  return id;
}

export function parentOf(json: JsonFields): string | null {
  const isNone = !isGiven(json.parentSpanId) || json.parentSpanId === "";
  return isNone ? null : idText(json, "parentSpanId", spanIdDigits);
}

export function kindOf({ kind }: JsonFields): string | null {
  return wordOf("kind", kind, ["unspecified", ...spanKinds], "SPAN_KIND_");
}

export function statusOf({ statusCode }: JsonFields): string | null {
  return wordOf("statusCode", statusCode, statusCodes, "STATUS_CODE_");
}

/**
 * Reads one of some words: the word itself, OpenTelemetry's name of it, or its number. Null for none. Throws
 * RowProblem.
 */
function wordOf(name: string, value: unknown, words: readonly string[], prefix: string): string | null {
  if (!isGiven(value) || value === "") return null;
  const text = scalarText(value);
  const word = text.startsWith(prefix) ? text.slice(prefix.length).toLowerCase() : text.toLowerCase();
  const found = words.find((each, number) => each === word || String(number) === text);
  if (found === undefined) {
    const known = words.filter((each) => each !== "unspecified");
    throw makeFieldProblem(
      name,
      `one of ${known.join(", ")} (or OpenTelemetry's name or number of it)`,
      value,
    );
  }
  return found === "unspecified" ? null : found;
}

/** Milliseconds from start to end; null where no end was sent. Throws RowProblem where the end is before the start. */
function durationOf(json: JsonFields, startNs: bigint, onNumber: OnNumber): string | null {
  if (!isGiven(json.endTimeUnixNano)) return null;
  const endNs = nanosOf(json, "endTimeUnixNano", onNumber);
  if (endNs >= startNs) return durationText(Number(endNs - startNs));
  const start = `startTimeUnixNano ${describeValue(json.startTimeUnixNano)}`;
  throw new RowProblem("field", `endTimeUnixNano ${describeValue(json.endTimeUnixNano)} is before ${start}`);
}

/** Converts nanoseconds into the text of milliseconds, as JavaScript prints it. */
export function durationText(nanoseconds: number): string {
  return String(nanoseconds / 1e6);
}
