/** Checks that parsed JSON has the fields of a type: a right checksum does not say what a file holds. */

/** Returns whether a value is what it is taken for. */
export type Check = (value: unknown) => boolean;

/** A check for every field of `T`. Fields that it does not name are allowed. */
export type FieldChecks<T> = { readonly [K in keyof Required<T>]: Check };

export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const isNumber: Check = (value) => typeof value === "number";
export const isText: Check = (value) => typeof value === "string";

export function isListOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

export function isOptional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

/** Returns the name of the first field that fails its check, "" where the value is no object; else undefined. */
export function findWrongField<T>(value: unknown, fields: FieldChecks<T>): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "";
  const checks = Object.entries<Check>(fields);
  return checks.find(([name, check]) => !check((value as Record<string, unknown>)[name]))?.[0];
}

/** A check of all fields of an object. */
export function isObjectOf<T>(fields: FieldChecks<T>): (value: unknown) => value is T {
  return (value): value is T => findWrongField(value, fields) === undefined;
}
