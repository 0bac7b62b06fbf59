/** One JSON object of a body becomes one log row. */

import type { LogRow } from "../../engine/index.ts";
import { shown } from "../fields.ts";
import { flatDepthMax, flatKeysMax } from "../limits.ts";
import { exactText, isInexact, parseExact } from "./exact-json.ts";

/** Why a row cannot be taken: the kind goes into the metrics, the message to the sender. */
export class RowProblem extends Error {
  readonly kind: "encoding" | "json" | "field";

  constructor(kind: "encoding" | "json" | "field", message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface ReadRow {
  row: LogRow;
  /** The row came with a time of its own; else it has the time of arrival. */
  timed: boolean;
}

type Json = Record<string, unknown>;

/** Sees every number of a row as it is used. */
type OnNumber = (value: number) => void;

/** Thrown to give up the fast reading of a row; one object for all, since making an Error costs more than a row. */
const inexactNumber = new RowProblem("json", "holds a number that JSON.parse cannot give exactly");

const refuseInexact: OnNumber = (value) => {
  if (isInexact(value)) throw inexactNumber;
};
const takeAll: OnNumber = () => undefined;

/** `text` is one JSON object. Throws RowProblem. */
export function readLogRow(text: string, arrivalNs: bigint): ReadRow {
  try {
    return rowOf(parsedObject(text, JSON.parse), arrivalNs, refuseInexact);
  } catch (problem) {
    if (problem === inexactNumber) return rowOf(parsedObject(text, parseExact), arrivalNs, takeAll);
    if (problem instanceof RangeError) throw new RowProblem("json", "nested too deeply");
    throw problem;
  }
}

function parsedObject(text: string, parse: (text: string) => unknown): Json {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new RowProblem("json", `not JSON: ${jsonProblem(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RowProblem("json", `a row must be a JSON object, got ${shown(value)}`);
  }
  return value as Json;
}

/** V8's own sentence, without its "(line 1 column 9)": the line that counts is the body's. */
function jsonProblem(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/ \(line \d+ column \d+\)$/, "");
}

function rowOf(json: Json, arrivalNs: bigint, onNumber: OnNumber): ReadRow {
  const timeNs = timeOf(json, onNumber);
  const level = textOf(json.log_level, onNumber) ?? "";
  const message = textOf(json.message, onNumber) ?? "";
  const attributes = attributesOf(json, onNumber);
  return { row: { timeNs: timeNs ?? arrivalNs, level, message, attributes }, timed: timeNs !== null };
}

/** `timeUnixNano` is the finer of the two, so it goes first. Null where the row has neither. */
function timeOf(json: Json, onNumber: OnNumber): bigint | null {
  if (isGiven(json.timeUnixNano)) return nanosOf(json.timeUnixNano, onNumber);
  if (!isGiven(json.timestamp)) return null;
  const ms = integerOf(json.timestamp, onNumber);
  if (ms !== null) return ms * 1_000_000n;
  throw new RowProblem(
    "field",
    `timestamp must be an integer, Unix time in milliseconds, got ${shown(json.timestamp)}`,
  );
}

function nanosOf(value: unknown, onNumber: OnNumber): bigint {
  const isDigits = typeof value === "string" && /^-?\d{1,20}$/.test(value);
  const nanos = isDigits ? BigInt(value) : integerOf(value, onNumber);
  if (nanos !== null) return nanos;
  throw new RowProblem(
    "field",
    `timeUnixNano must be an integer, Unix time in nanoseconds, got ${shown(value)}`,
  );
}

function integerOf(value: unknown, onNumber: OnNumber): bigint | null {
  if (typeof value === "bigint") return value;
  if (typeof value !== "number" || !Number.isInteger(value)) return null;
  onNumber(value);
  return BigInt(value);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The text that stands for a value, null for none: what is not text is written as JSON. */
function textOf(value: unknown, onNumber: OnNumber): string | null {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return null;
  if (typeof value === "number") onNumber(value);
  return typeof value === "object" ? exactText(value, onNumber) : String(value);
}

/**
 * Attributes as text, nested objects flattened with dots. The members of `attributes` come first, then every field of
 * the row that has no meaning of its own; of two values under one name the first stays.
 */
function attributesOf(json: Json, onNumber: OnNumber): Record<string, string> {
  const given = json.attributes ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new RowProblem("field", `attributes must be a JSON object, got ${shown(given)}`);
  }
  if (isFlat(given) && !hasOtherFields(json)) return given;
  const flat: Record<string, string> = Object.create(null);
  const into = { flat, keys: 0, onNumber };
  flatten(given as Json, "", 1, into);
  for (const key in json) {
    if (!isRowField(key)) put(key, json[key], 1, into);
  }
  return flat;
}

/** Most rows come with text only: then the parsed object is used as it is. */
function isFlat(attributes: object): attributes is Record<string, string> {
  for (const key in attributes) {
    if (typeof (attributes as Json)[key] !== "string") return false;
  }
  return true;
}

function hasOtherFields(json: Json): boolean {
  for (const key in json) {
    if (!isRowField(key)) return true;
  }
  return false;
}

function isRowField(key: string): boolean {
  switch (key) {
    case "timestamp":
    case "timeUnixNano":
    case "log_level":
    case "message":
    case "attributes":
      return true;
    default:
      return false;
  }
}

interface Flat {
  flat: Record<string, string>;
  keys: number;
  onNumber: OnNumber;
}

function flatten(json: Json, prefix: string, depth: number, into: Flat): void {
  for (const key in json) put(prefix === "" ? key : `${prefix}.${key}`, json[key], depth, into);
}

function put(key: string, value: unknown, depth: number, into: Flat): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && depth < flatDepthMax) {
    flatten(value as Json, key, depth + 1, into);
    return;
  }
  const text = textOf(value, into.onNumber);
  if (text === null || into.flat[key] !== undefined) return;
  if (++into.keys > flatKeysMax) throw new RowProblem("field", `more than ${flatKeysMax} attributes`);
  into.flat[key] = text;
}
