/** JSON whose integers may be larger than a JavaScript number holds exactly. */

/** The third argument of a reviver, in Node 22 but not yet in TypeScript's library (TC39 "JSON.parse source text access"). */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** Whether the number that JSON.parse gave may not be the number that was written. */
export function isInexact(value: number): boolean {
  return !Number.isSafeInteger(value) && (Number.isInteger(value) || !Number.isFinite(value));
}

/**
 * Like JSON.parse, but integers beyond 2^53 become bigints, and numbers beyond 1e308 their text. Five times slower, so
 * only for rows in which `isInexact` found something.
 */
export function parseExact(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) => {
    if (typeof value !== "number" || source === undefined || !isInexact(value)) return value;
    if (/^-?\d+$/.test(source)) return BigInt(source);
    return Number.isFinite(value) ? value : source;
  });
}

/** JSON text of a value that may hold bigints; `onNumber` sees every number in it. */
export function exactText(value: unknown, onNumber: (value: number) => void): string {
  return JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === "number") onNumber(one);
    return typeof one === "bigint" ? rawJson(String(one)) : one;
  });
}
