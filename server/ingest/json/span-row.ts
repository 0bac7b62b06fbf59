/** One JSON object of a body becomes one span: a row whose attributes are its ids, its name and so on beside its own. */

import type { LogRow } from "../../../engine/index.ts";
import { describeValue } from "../../text/quote.ts";
import {
  attributesOf,
  isGiven,
  type JsonFields,
  nanosOf,
  type OnNumber,
  RowProblem,
  readJsonRow,
  textOf,
  wrongField,
} from "./json-row.ts";

/** Attributes that every span gets from its fields; one of its own that is named so becomes `attributes.<name>`. */
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
/** In the order of OpenTelemetry's numbers, of which 0 is "unspecified". */
export const spanKinds = ["internal", "server", "client", "producer", "consumer"] as const;
/** In the order of OpenTelemetry's numbers, from 0. */
export const statusCodes = ["unset", "ok", "error"] as const;

export const ownNames: ReadonlySet<string> = new Set(spanKeys);
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

/** `text` is one JSON object. Throws RowProblem. */
export function readSpanRow(text: string): LogRow {
  return readJsonRow(text, (json, onNumber) => {
    const timeNs = nanosOf(json, "startTimeUnixNano", onNumber);
    const own = {
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
    const given = attributesOf(json, "attributes", fields, onNumber);
    for (const key in given) attributes[ownNames.has(key) ? `attributes.${key}` : key] ??= given[key]!;
    for (const key of spanKeys) if ((own[key] ?? "") !== "") attributes[key] = own[key]!;
    return { timeNs, level: "", message: "", attributes };
  });
}

/** Null is an id of zeros, which stands for none. */
function idText(json: JsonFields, name: string, digits: number): string | null {
  const value = json[name];
  if (typeof value !== "string" || value.length !== digits || !/^[0-9a-f]*$/i.test(value)) {
    throw wrongField(name, `${digits} hexadecimal digits`, value);
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

/** One of some words, by itself, by OpenTelemetry's name or by its number; null for none. */
function wordOf(name: string, value: unknown, words: readonly string[], prefix: string): string | null {
  if (!isGiven(value) || value === "") return null;
  const text = String(value);
  const word = text.startsWith(prefix) ? text.slice(prefix.length).toLowerCase() : text.toLowerCase();
  const found = words.find((each, number) => each === word || String(number) === text);
  if (found === undefined || typeof value === "object" || typeof value === "boolean") {
    const known = words.filter((each) => each !== "unspecified");
    throw wrongField(name, `one of ${known.join(", ")} (or OpenTelemetry's name or number of it)`, value);
  }
  return found === "unspecified" ? null : found;
}

/** Milliseconds from start to end; null where no end was sent. */
function durationOf(json: JsonFields, startNs: bigint, onNumber: OnNumber): string | null {
  if (!isGiven(json.endTimeUnixNano)) return null;
  const endNs = nanosOf(json, "endTimeUnixNano", onNumber);
  if (endNs >= startNs) return durationText(Number(endNs - startNs));
  const start = `startTimeUnixNano ${describeValue(json.startTimeUnixNano)}`;
  throw new RowProblem("field", `endTimeUnixNano ${describeValue(json.endTimeUnixNano)} is before ${start}`);
}

/** A duration in milliseconds, as JavaScript prints it. */
export function durationText(nanoseconds: number): string {
  return String(nanoseconds / 1e6);
}
