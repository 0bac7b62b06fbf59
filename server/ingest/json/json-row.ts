/** One JSON object of a body, taken apart the general way: whatever JSON it is. */

import { describeValue } from "../../text/quote.ts";
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

export type JsonFields = Record<string, unknown>;

/** Sees every number of a row as it is used. */
export type OnNumber = (value: number) => void;

/** Thrown to give up the fast reading of a row; one object for all, since making an Error costs more than a row. */
const inexactNumber = new RowProblem("json", "holds a number that JSON.parse cannot give exactly");

const refuseInexact: OnNumber = (value) => {
  if (isInexact(value)) throw inexactNumber;
};
const takeAll: OnNumber = () => undefined;

/**
 * What `read` makes of the JSON object that `text` is: read again, every digit kept, where `read` shows `onNumber` one that was not
 * exact. Throws RowProblem.
 */
export function readJsonRow<Row>(text: string, read: (json: JsonFields, onNumber: OnNumber) => Row): Row {
  try {
    return read(parsedObject(text, JSON.parse), refuseInexact);
  } catch (problem) {
    if (problem === inexactNumber) return read(parsedObject(text, parseExact), takeAll);
    if (problem instanceof RangeError) throw new RowProblem("json", "nested too deeply");
    throw problem;
  }
}

function parsedObject(text: string, parse: (text: string) => unknown): JsonFields {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new RowProblem("json", `not JSON: ${jsonProblem(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RowProblem("json", `a row must be a JSON object, got ${describeValue(value)}`);
  }
  return value as JsonFields;
}

/** V8's own sentence, without its "(line 1 column 9)": the line that counts is the body's. */
function jsonProblem(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/ \(line \d+ column \d+\)$/, "");
}

export function wrongField(name: string, expected: string, value: unknown): RowProblem {
  const problem = isGiven(value)
    ? `must be ${expected}, got ${describeValue(value)}`
    : `is required: ${expected}`;
  return new RowProblem("field", `${name} ${problem}`);
}

/** `timeUnixNano` is the finer of the two, so it goes first. Null where the row has neither. */
export function timeOf(json: JsonFields, onNumber: OnNumber): bigint | null {
  if (isGiven(json.timeUnixNano)) return nanosOf(json, "timeUnixNano", onNumber);
  if (!isGiven(json.timestamp)) return null;
  const ms = integerOf(json.timestamp, onNumber);
  if (ms !== null) return ms * 1_000_000n;
  throw wrongField("timestamp", "an integer, Unix time in milliseconds", json.timestamp);
}

/** Nanoseconds since the epoch, an integer or its digits in a string. */
export function nanosOf(json: JsonFields, name: string, onNumber: OnNumber): bigint {
  const value = json[name];
  const isDigits = typeof value === "string" && /^-?\d{1,20}$/.test(value);
  const nanos = isDigits ? BigInt(value) : integerOf(value, onNumber);
  if (nanos !== null) return nanos;
  throw wrongField(name, "an integer, Unix time in nanoseconds", value);
}

function integerOf(value: unknown, onNumber: OnNumber): bigint | null {
  if (typeof value === "bigint") return value;
  if (typeof value !== "number" || !Number.isInteger(value)) return null;
  onNumber(value);
  return BigInt(value);
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The text that stands for a value, null for none: what is not text is written as JSON. */
export function textOf(value: unknown, onNumber: OnNumber): string | null {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return null;
  if (typeof value === "number") onNumber(value);
  return typeof value === "object" ? exactText(value, onNumber) : String(value);
}

/**
 * Attributes as text, nested objects flattened with dots. The members of the object under `name` come first, then every field of
 * the row that has no meaning of its own; of two values under one name the first stays.
 */
export function attributesOf(
  json: JsonFields,
  name: "attributes" | "labels",
  fields: ReadonlySet<string>,
  onNumber: OnNumber,
): Record<string, string> {
  const given = json[name] ?? {};
  if (typeof given !== "object" || Array.isArray(given)) throw wrongField(name, "a JSON object", given);
  const isOther = (key: string) => key !== name && !fields.has(key);
  if (isFlat(given) && !someKey(json, isOther)) return given;
  const flat: Record<string, string> = Object.create(null);
  const into = { flat, keys: 0, what: name, onNumber };
  flatten(given as JsonFields, "", 1, into);
  for (const key in json) {
    if (isOther(key)) put(key, json[key], 1, into);
  }
  return flat;
}

/** Every field but some as text, nested objects flattened with dots; of two values under one name the first stays. */
export function flatFields(
  json: JsonFields,
  fields: ReadonlySet<string>,
  onNumber: OnNumber,
): Record<string, string> {
  const flat: Record<string, string> = Object.create(null);
  const into = { flat, keys: 0, what: "attributes", onNumber };
  for (const key in json) if (!fields.has(key)) put(key, json[key], 1, into);
  return flat;
}

/** Most rows come with text only: then the parsed object is used as it is. */
function isFlat(attributes: object): attributes is Record<string, string> {
  for (const key in attributes) {
    if (typeof (attributes as JsonFields)[key] !== "string") return false;
  }
  return true;
}

function someKey(json: JsonFields, test: (key: string) => boolean): boolean {
  for (const key in json) {
    if (test(key)) return true;
  }
  return false;
}

interface Flat {
  flat: Record<string, string>;
  keys: number;
  what: string;
  onNumber: OnNumber;
}

function flatten(json: JsonFields, prefix: string, depth: number, into: Flat): void {
  for (const key in json) put(prefix === "" ? key : `${prefix}.${key}`, json[key], depth, into);
}

function put(key: string, value: unknown, depth: number, into: Flat): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && depth < flatDepthMax) {
    flatten(value as JsonFields, key, depth + 1, into);
    return;
  }
  const text = textOf(value, into.onNumber);
  if (text === null || into.flat[key] !== undefined) return;
  if (++into.keys > flatKeysMax) throw new RowProblem("field", `more than ${flatKeysMax} ${into.what}`);
  into.flat[key] = text;
}
