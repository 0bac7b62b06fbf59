/** The general reader of JSON rows: parses any JSON object, and reads times, texts and flattened attributes from it. */

import { describeValue } from "../../text/quote.ts";
import { Refusal } from "../../throttle/refusal.ts";
import {
  flatDepthMax,
  flatKeysMax,
  flatNameLengthMax,
  jsonRowLengthMax,
  sharedAttributesMax,
} from "../limits.ts";
import { isStackOverflow } from "../range-error.ts";
import { isInexact, parseExact, stringifyExact } from "./exact-json.ts";

/** Why a row cannot be taken: metrics count the kind, the sender gets the message. */
export class RowProblem extends Error {
  readonly kind: "encoding" | "json" | "field";

  constructor(kind: "encoding" | "json" | "field", message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Runs `read`. What it reads concerns all rows: its RowProblem becomes a Refusal 400 for the whole body. */
export function refuseBodyOnProblem<T>(read: () => T, where = ""): T {
  try {
    return read();
  } catch (problem) {
    throw problem instanceof RowProblem ? new Refusal(400, where + problem.message) : problem;
  }
}

export type JsonFields = Record<string, unknown>;

/** Called for every number of a row that is used. */
export type OnNumber = (value: number) => void;

/** Thrown to abandon the fast parse of a row. A single object, since making an Error costs more than reading a row. */
const inexactNumber = new RowProblem("json", "holds a number that JSON.parse cannot give exactly");

const refuseInexact: OnNumber = (value) => {
  if (isInexact(value)) throw inexactNumber;
};
const acceptAll: OnNumber = () => undefined;

/**
 * Parses `text` as a JSON object and returns what `read` makes of it. Where `read` passes an inexact number to
 * `onNumber`, the text is parsed again with every digit kept. Throws RowProblem.
 */
export function readJsonRow<Row>(text: string, read: (json: JsonFields, onNumber: OnNumber) => Row): Row {
  if (text.length > jsonRowLengthMax)
    throw new RowProblem("json", `longer than ${jsonRowLengthMax} characters`);
  try {
    return read(parseObject(text, JSON.parse), refuseInexact);
  } catch (problem) {
    if (problem === inexactNumber) return read(parseObject(text, parseExact), acceptAll);
    if (isStackOverflow(problem)) throw new RowProblem("json", "nested too deeply");
    throw problem;
  }
}

function parseObject(text: string, parse: (text: string) => unknown): JsonFields {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new RowProblem("json", `not JSON: ${describeJsonError(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RowProblem("json", `a row must be a JSON object, got ${describeValue(value)}`);
  }
  return value as JsonFields;
}

/** V8's error message without its "(line 1 column 9)": the sender needs the line of the body. */
function describeJsonError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/ \(line \d+ column \d+\)$/, "");
}

export function makeFieldProblem(name: string, expected: string, value: unknown): RowProblem {
  const problem = isGiven(value)
    ? `must be ${expected}, got ${describeValue(value)}`
    : `is required: ${expected}`;
  return new RowProblem("field", `${name} ${problem}`);
}

/** Time of a row, in nanoseconds; null where it has none. `timeUnixNano` is finer than `timestamp`, so it wins. */
export function timeOf(json: JsonFields, onNumber: OnNumber): bigint | null {
  if (isGiven(json.timeUnixNano)) return nanosOf(json, "timeUnixNano", onNumber);
  if (!isGiven(json.timestamp)) return null;
  const ms = integerOf(json.timestamp, onNumber);
  if (ms !== null) return ms * 1_000_000n;
  throw makeFieldProblem("timestamp", "an integer, Unix time in milliseconds", json.timestamp);
}

/** Reads nanoseconds since the epoch: an integer, or its digits in a string. Throws RowProblem. */
export function nanosOf(json: JsonFields, name: string, onNumber: OnNumber): bigint {
  const value = json[name];
  const isDigits = typeof value === "string" && /^-?\d{1,20}$/.test(value);
  const nanos = isDigits ? BigInt(value) : integerOf(value, onNumber);
  if (nanos !== null) return nanos;
  throw makeFieldProblem(name, "an integer, Unix time in nanoseconds", value);
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

/**
 * The text of a text, a number or a truth value, "" for anything else. Use it in place of `String`, which throws where an
 * object from outside has a field `toString`.
 */
export function scalarText(value: unknown): string {
  return typeof value === "object" || value === undefined ? "" : String(value);
}

/** The text of a value, null for none. Values other than text are written as JSON. */
export function textOf(value: unknown, onNumber: OnNumber): string | null {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return null;
  if (typeof value === "number") onNumber(value);
  return typeof value === "object" ? stringifyExact(value, onNumber) : String(value);
}

/**
 * Attributes as texts, nested names joined with dots: first the members of the object under `name`, then every field of
 * the row that is not in `fields`. Of two values under one name the first wins. Throws RowProblem.
 */
export function attributesOf(
  json: JsonFields,
  name: "attributes" | "labels",
  fields: ReadonlySet<string>,
  onNumber: OnNumber,
): Record<string, string> {
  const nested = json[name] ?? {};
  if (typeof nested !== "object" || Array.isArray(nested))
    throw makeFieldProblem(name, "a JSON object", nested);
  const isOther = (key: string) => key !== name && !fields.has(key);
  if (isFlat(nested) && !hasKey(json, isOther)) return nested;
  const flat: Record<string, string> = Object.create(null);
  const into = { flat, keys: 0, plural: name, onNumber };
  flatten(nested as JsonFields, "", 1, into);
  for (const key in json) {
    if (isOther(key)) putAttribute(key, json[key], 1, into);
  }
  return flat;
}

/**
 * Every field that is not in `fields` as text, nested names joined with dots. Of two values under one name the first
 * wins. Throws RowProblem.
 */
export function flattenFields(
  json: JsonFields,
  fields: ReadonlySet<string>,
  onNumber: OnNumber,
): Record<string, string> {
  const flat: Record<string, string> = Object.create(null);
  const into = { flat, keys: 0, plural: "attributes", onNumber };
  for (const key in json) if (!fields.has(key)) putAttribute(key, json[key], 1, into);
  return flat;
}

/** Returns whether all attributes are texts, as in most rows: then the parsed object is used as it is. */
function isFlat(attributes: object): attributes is Record<string, string> {
  for (const key in attributes) {
    if (typeof (attributes as JsonFields)[key] !== "string") return false;
  }
  return true;
}

function hasKey(json: JsonFields, test: (key: string) => boolean): boolean {
  for (const key in json) {
    if (test(key)) return true;
  }
  return false;
}

interface FlatAttributes {
  flat: Record<string, string>;
  keys: number;
  plural: string;
  onNumber: OnNumber;
}

function flatten(json: JsonFields, prefix: string, depth: number, into: FlatAttributes): void {
  checkFlatName(prefix);
  for (const key in json) putAttribute(prefix === "" ? key : `${prefix}.${key}`, json[key], depth, into);
}

/** Throws RowProblem where the name of an object is too long for its members to become attributes. */
export function checkFlatName(name: string): void {
  if (name.length > flatNameLengthMax) throw makeLongNameProblem(name);
}

/** Throws RowProblem where a row would share more attributes with others than a row can have. */
export function checkSharedAttributes(count: number): void {
  if (count > sharedAttributesMax)
    throw new RowProblem("field", `more than ${sharedAttributesMax} attributes`);
}

export function makeLongNameProblem(name: string): RowProblem {
  return new RowProblem(
    "field",
    `attribute key "${name.slice(0, 40)}…" is longer than ${flatNameLengthMax} bytes`,
  );
}

function putAttribute(key: string, value: unknown, depth: number, into: FlatAttributes): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && depth < flatDepthMax) {
    flatten(value as JsonFields, key, depth + 1, into);
    return;
  }
  const text = textOf(value, into.onNumber);
  if (text === null || into.flat[key] !== undefined) return;
  if (++into.keys > flatKeysMax) throw new RowProblem("field", `more than ${flatKeysMax} ${into.plural}`);
  into.flat[key] = text;
}
