/** Reads the times that loggers write: dates, and numbers of seconds down to nanoseconds. */

import { isoNanos } from "../iso-time.ts";
import { type JsonFields, scalarText } from "../json/json-row.ts";

/** What an error calls a good time. */
export const timeExpected =
  "a time: RFC 3339, or Unix time since 1973 in seconds, milliseconds, microseconds or nanoseconds";

type TimeUnit = "s" | "ms" | "µs" | "ns" | "RFC 3339";

export interface LoggerTime {
  nanos: bigint;
  unit: TimeUnit;
}

/**
 * Units by the digits of a number: with these bounds each unit covers 1973 to 5138 (nanoseconds to 2286 and beyond), and
 * no two overlap.
 */
const units: readonly { unit: TimeUnit; digits: number; decimals: number }[] = [
  { unit: "s", digits: 11, decimals: 9 },
  { unit: "ms", digits: 14, decimals: 6 },
  { unit: "µs", digits: 17, decimals: 3 },
  { unit: "ns", digits: 20, decimals: 0 },
];

/**
 * Returns whether a whole number is read as milliseconds where these are the usual unit: not if it had 10 or 11 digits,
 * or 15 and more, which as other units are times of this century. Small numbers stay what they are.
 */
export function areMillis(number: number): boolean {
  return number < 1e9 || (number >= 1e11 && number < 1e14);
}

/** Returns undefined for what is no time. */
export function readTime(value: unknown): LoggerTime | undefined {
  switch (typeof value) {
    case "number":
    case "bigint":
      return fromDecimal(String(value));
    case "string": {
      const nanos = isoNanos(value);
      return nanos === undefined ? fromDecimal(value) : { nanos, unit: "RFC 3339" };
    }
    case "object":
      return value === null ? undefined : fromParts(value as JsonFields);
    default:
      return undefined;
  }
}

function fromDecimal(text: string): LoggerTime | undefined {
  const [, whole, fraction = ""] = /^(\d{9,20})(?:\.(\d{1,30}))?$/.exec(text) ?? [];
  const found = whole === undefined ? undefined : units.find(({ digits }) => whole.length <= digits);
  if (whole === undefined || found === undefined) return undefined;
  const { unit, decimals } = found;
  return { nanos: BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0")), unit };
}

/** Google's `{seconds, nanos}` and log4j2's `{epochSecond, nanoOfSecond}`. */
function fromParts(parts: JsonFields): LoggerTime | undefined {
  const seconds = scalarText(parts.seconds ?? parts.epochSecond);
  const nanos = scalarText(parts.nanos ?? parts.nanoOfSecond ?? 0);
  if (!/^\d{9,11}$/.test(seconds) || !/^\d{1,9}$/.test(nanos)) return undefined;
  return { nanos: BigInt(seconds) * 1_000_000_000n + BigInt(nanos), unit: "s" };
}
