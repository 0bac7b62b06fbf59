/** Reads a JSON object field by field; every complaint names the field by its path and what was expected. */

import { Refusal } from "../limits/refusal.ts";
import { quoted, shown } from "../text/quote.ts";
import { suggestion } from "../text/suggestion.ts";

export interface Fields {
  /** "" for the body itself, else e.g. `alert.metadata`. */
  path: string;
  values: Readonly<Record<string, unknown>>;
}

/** Throws Refusal 400 unless `value` is an object with none but the known fields. */
export function fieldsOf(value: unknown, path: string, known: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refusal(400, `${path === "" ? "the body" : path} must be a JSON object, got ${shown(value)}`);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw new Refusal(400, `unknown field ${quoted(join(path, key))}${suggestion(key, known)}`);
    }
  }
  return { path, values: value as Record<string, unknown> };
}

export function stringField(fields: Fields, name: string, expected = "a string"): string {
  const value = fields.values[name];
  if (typeof value !== "string") throw wrong(fields, name, expected);
  return value;
}

/** False where it is not given. */
export function switchField(fields: Fields, name: string): boolean {
  const value = fields.values[name] ?? false;
  if (typeof value !== "boolean") throw wrong(fields, name, "true or false");
  return value;
}

export interface IntegerRange {
  min: number;
  max: number;
  /** What the number is, for the message, e.g. `an integer, Unix time in milliseconds`. */
  expected: string;
}

export function integerField(fields: Fields, name: string, range: IntegerRange): number {
  const value = fields.values[name];
  if (typeof value !== "number" || !Number.isInteger(value) || value < range.min || value > range.max) {
    throw wrong(fields, name, range.expected);
  }
  return value;
}

/** Null and absence are the same: the field was not given. */
export function isGiven(fields: Fields, name: string): boolean {
  return fields.values[name] !== undefined && fields.values[name] !== null;
}

export function oneOfField<T extends string>(fields: Fields, name: string, choices: readonly T[]): T {
  const value = fields.values[name];
  const choice = choices.find((c) => c === value);
  if (choice === undefined) throw wrong(fields, name, `one of ${choices.join(", ")}`);
  return choice;
}

function wrong(fields: Fields, name: string, expected: string): Refusal {
  const path = join(fields.path, name);
  if (!isGiven(fields, name)) return new Refusal(400, `${path} is required: ${expected}`);
  return new Refusal(400, `${path} must be ${expected}, got ${shown(fields.values[name])}`);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
