/**
 * Reads OTLP values and attributes in their JSON form (https://protobuf.dev/programming-guides/json/, with ids in
 * hexadecimal).
 */

import { describeValue } from "../../text/quote.ts";
import {
  checkFlatName,
  checkSharedAttributes,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  RowProblem,
} from "../json/json-row.ts";
import { flatDepthMax, flatKeysMax, sharedAttributeCost } from "../limits.ts";
import { doubleJson, nestingMax } from "./wire-value.ts";

/** Attributes of a row that is being read. A later value of a key replaces an earlier one. */
export interface Attributes {
  texts: Record<string, string>;
  /** Keys that were added since the attributes were made or copied. */
  keys: number;
  /** Number of all. */
  count: number;
  /** Bytes that a copy is charged for: of all names and texts, in UTF-16 units, and for each attribute. */
  copyCost: number;
  /** Names that are reserved for the signal's own fields: an attribute with such a name becomes `attributes.<name>`. */
  reservedNames: ReadonlySet<string>;
}

export function makeAttributes(reservedNames: ReadonlySet<string>): Attributes {
  return { texts: Object.create(null), keys: 0, count: 0, copyCost: 0, reservedNames };
}

/** Copies attributes. Adding to the copy leaves the original as it is. */
export function copyAttributes({ texts, count, copyCost, reservedNames }: Attributes): Attributes {
  return { texts: Object.assign(Object.create(null), texts), keys: 0, count, copyCost, reservedNames };
}

/** Like `copyAttributes`, for a record. Throws RowProblem where it would have too many attributes. */
export function beginRecord(base: Attributes): Attributes {
  checkSharedAttributes(base.count);
  return copyAttributes(base);
}

export function putAttribute(attributes: Attributes, key: string, text: string): void {
  const isNew = attributes.texts[key] === undefined;
  if (isNew) attributes.count++;
  if (isNew && ++attributes.keys > flatKeysMax) {
    throw new RowProblem("field", `more than ${flatKeysMax} attributes`);
  }
  attributes.copyCost += key.length + text.length + sharedAttributeCost;
  attributes.texts[key] = text;
}

/** Adds a list of KeyValue, nested names joined with dots. Throws RowProblem. */
export function addAttributes(attributes: Attributes, list: unknown, path: string): void {
  addPairs(attributes, list, path, "", 1);
}

function addPairs(attributes: Attributes, list: unknown, path: string, prefix: string, depth: number): void {
  checkFlatName(prefix);
  for (const pair of toObjects(list, path)) {
    const key = typeof pair.key === "string" ? pair.key : stringOf(pair.key, `${path}.key`);
    const name = prefix === "" ? key : `${prefix}.${key}`;
    const text = pairText(attributes, pair.value, path, name, depth);
    if (text !== undefined)
      putAttribute(attributes, attributes.reservedNames.has(name) ? `attributes.${name}` : name, text);
  }
}

/**
 * Returns the text of an attribute's value. Adds the members of a map to `attributes` instead, and returns undefined;
 * returns undefined for no value, too.
 */
function pairText(
  attributes: Attributes,
  sent: unknown,
  path: string,
  name: string,
  depth: number,
): string | undefined {
  const value = toObject(sent, path);
  // The fast path: most values are strings.
  if (typeof value?.stringValue === "string") return value.stringValue;
  if (!isGiven(value?.kvlistValue) || depth >= flatDepthMax) return valueText(value, `${path}.value`);
  const valuesPath = `${path}.value.kvlistValue`;
  addPairs(
    attributes,
    toObject(value?.kvlistValue, valuesPath)?.values,
    `${valuesPath}.values`,
    name,
    depth + 1,
  );
  return undefined;
}

/** The text of an AnyValue, undefined for none. Values other than text are written as JSON. */
export function valueText(value: JsonFields | undefined, path: string): string | undefined {
  if (value === undefined) return undefined;
  if (isGiven(value.stringValue)) return stringOf(value.stringValue, `${path}.stringValue`);
  if (isGiven(value.bytesValue)) return base64Of(value.bytesValue, `${path}.bytesValue`);
  if (isGiven(value.doubleValue)) return String(doubleOf(value.doubleValue, `${path}.doubleValue`));
  const json = valueJson(value, path, 0);
  return json === "null" ? undefined : json;
}

function valueJson(value: JsonFields | undefined, path: string, depth: number): string {
  if (depth > nestingMax) throw new RowProblem("json", `${path} is nested more than ${nestingMax} deep`);
  if (value === undefined) return "null";
  if (isGiven(value.stringValue)) return JSON.stringify(stringOf(value.stringValue, path));
  if (isGiven(value.boolValue)) return String(booleanOf(value.boolValue, `${path}.boolValue`));
  if (isGiven(value.intValue)) return String(integerOf(value.intValue, `${path}.intValue`));
  if (isGiven(value.doubleValue)) return doubleJson(doubleOf(value.doubleValue, `${path}.doubleValue`));
  if (isGiven(value.bytesValue)) return JSON.stringify(base64Of(value.bytesValue, `${path}.bytesValue`));
  if (isGiven(value.arrayValue)) {
    const elements = toObject(value.arrayValue, `${path}.arrayValue`)?.values;
    const texts = toObjects(elements, `${path}.arrayValue.values`).map((element) =>
      valueJson(element, `${path}.arrayValue.values`, depth + 1),
    );
    return `[${texts.join(",")}]`;
  }
  if (!isGiven(value.kvlistValue)) return "null";
  const members = toObject(value.kvlistValue, `${path}.kvlistValue`)?.values;
  return pairsJson(members, `${path}.kvlistValue.values`, depth + 1);
}

/** The JSON text of a list of KeyValue. */
export function pairsJson(list: unknown, path: string, depth = 1): string {
  const members = new Map<string, string>();
  for (const pair of toObjects(list, path)) {
    const key = stringOf(pair.key, `${path}.key`);
    members.set(key, valueJson(toObject(pair.value, `${path}.value`), `${path}.value`, depth));
  }
  return `{${Array.from(members, ([key, json]) => `${JSON.stringify(key)}:${json}`).join(",")}}`;
}

/** The objects of a list; a missing list is empty. Throws RowProblem. */
export function toObjects(value: unknown, path: string): readonly JsonFields[] {
  if (!isGiven(value)) return [];
  if (!Array.isArray(value)) throw makeFieldProblem(path, "an array", value);
  const isPlain = value.every(
    (element) => isGiven(element) && typeof element === "object" && !Array.isArray(element),
  );
  return isPlain ? value : value.map((element: unknown, i) => toObject(element, `${path}[${i}]`) ?? {});
}

export function toObject(value: unknown, path: string): JsonFields | undefined {
  if (!isGiven(value)) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw makeFieldProblem(path, "an object", value);
  return value as JsonFields;
}

/** A missing string is "". Throws RowProblem. */
export function stringOf(value: unknown, path: string): string {
  if (!isGiven(value)) return "";
  if (typeof value !== "string") throw makeFieldProblem(path, "a string", value);
  return value;
}

function booleanOf(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") throw makeFieldProblem(path, "true or false", value);
  return value;
}

const int64Max = 2n ** 63n;

/** Reads a 64-bit integer: a number, or its digits in a string. Throws RowProblem. */
export function integerOf(value: unknown, path: string): bigint {
  const isDigits = typeof value === "string" && /^-?\d{1,20}$/.test(value);
  const isWhole = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  const integer = isDigits || isWhole ? BigInt(value) : undefined;
  if (integer !== undefined && integer >= -int64Max && integer < 2n * int64Max) return integer;
  throw new RowProblem("field", `${path} must be an integer of 64 bits, got ${describeValue(value)}`);
}

/** A time in Unix nanoseconds; 0 where there is none. */
export function timeOf(json: JsonFields, name: string): bigint {
  return isGiven(json[name]) ? integerOf(json[name], name) : 0n;
}

/** A count of 32 bits; 0 where there is none. */
export function countOf(json: JsonFields, name: string): number {
  if (!isGiven(json[name])) return 0;
  const count = integerOf(json[name], name);
  if (count >= 0n && count < 2n ** 32n) return Number(count);
  throw new RowProblem("field", `${name} must be an integer from 0 to 4294967295, got ${count}`);
}

const specialNumbers: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

export function doubleOf(value: unknown, path: string): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "string" && Object.hasOwn(specialNumbers, value)) return specialNumbers[value]!;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw makeFieldProblem(path, "a number", value);
  return number;
}

/** Base64 in the standard alphabet with padding, whichever variant was sent. */
function base64Of(value: unknown, path: string): string {
  return Buffer.from(stringOf(value, path), "base64").toString("base64");
}
