/** Reads members of JSON from outside, whatever it holds. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member at a path such as `status.phase`; undefined where there is none. */
export function member(object: JsonObject, path: string): unknown {
  let value: unknown = object;
  for (const key of path.split("."))
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** The objects of a list; none for another value. */
export function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** "" for another value. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
