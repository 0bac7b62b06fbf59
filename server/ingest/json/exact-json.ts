/** JSON with integers that a JavaScript number cannot hold exactly. */

/**
 * A reviver with its third argument, which Node 22 has but TypeScript's library lacks (TC39 "JSON.parse source text
 * access").
 */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** Returns whether the number from JSON.parse may differ from the number in the text. */
export function isInexact(value: number): boolean {
  return !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value));
}

/**
 * Like JSON.parse, but integers beyond 2^53 become bigints, and numbers beyond 1e308 become their text. So no bigint has
 * more than 309 digits: converting digits takes quadratic time. Five times slower than JSON.parse, so it is only for
 * rows where `isInexact` found something.
 */
export function parseExact(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) => {
    if (typeof value !== "number" || source === undefined || !isInexact(value)) return value;
    if (!Number.isFinite(value)) return source;
    return /^-?\d+$/.test(source) ? BigInt(source) : value;
  });
}

/** Returns the JSON text of a value that may contain bigints; calls `onNumber` for every number in it. */
export function stringifyExact(value: unknown, onNumber: (value: number) => void): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === "number") onNumber(member);
    return typeof member === "bigint" ? rawJson(String(member)) : member;
  });
}
