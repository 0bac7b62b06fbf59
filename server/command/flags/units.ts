/** Parses sizes, ages, times and addresses as people write them. Each parser throws UsageError with what it expects. */

import { utc, type Zone } from "./zone.ts";

/** The program was called wrongly. The message is one sentence, the exit code 2. */
export class UsageError extends Error {}

const sizeUnits: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  pb: 1e15,
  eb: 1e18,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  pib: 2 ** 50,
  eib: 2 ** 60,
};

/** Bytes of `500MB` (powers of 1000), `10GiB` (powers of 1024) or a bare number. */
export function parseSize(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const factor = unit === undefined ? undefined : sizeUnits[unit.toLowerCase()];
  if (number === undefined || factor === undefined) throw new UsageError("a size such as 10GiB or 500MB");
  const bytes = Math.round(Number(number) * factor);
  // Above 8 PiB bytes are rounded, which no limit is hurt by.
  if (bytes < 1 || !Number.isFinite(bytes)) throw new UsageError("a size of 1 byte or more, such as 10GiB");
  return bytes;
}

const ageUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/** Milliseconds of `30d`, `12h` or `1h30m`. */
export function parseAge(text: string): number {
  const trimmed = text.trim().toLowerCase();
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdwy]))+$/.test(trimmed))
    throw new UsageError("an age such as 30d, 12h or 90m");
  let ms = 0;
  for (const [, number, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwy])/g)) {
    ms += Number(number) * ageUnits[unit!]!;
  }
  ms = Math.round(ms);
  if (ms < 1 || !Number.isSafeInteger(ms)) throw new UsageError("an age longer than nothing, such as 30d");
  return ms;
}

/** Unix milliseconds of `now`, `-1h`, an ISO date (of the zone unless it says otherwise) or a number of milliseconds. */
export function parseTime(text: string, nowMs: number, zone: Zone = utc): number {
  const trimmed = text.trim();
  if (trimmed === "now") return nowMs;
  const [, age] = /^(?:now)?-(.+)$/.exec(trimmed) ?? [];
  if (age !== undefined) return Math.max(0, nowMs - parseTimeAge(age));
  if (/^\d{9,16}$/.test(trimmed)) return Number(trimmed);
  const ms = parseIsoMs(trimmed, zone);
  if (ms === null) throw new UsageError(timeExpectation);
  return ms;
}

const timeExpectation = "a time such as -1h, now, 2026-01-29, 2026-01-29T08:42:00Z or Unix milliseconds";

function parseTimeAge(age: string): number {
  try {
    return parseAge(age);
  } catch {
    throw new UsageError(timeExpectation);
  }
}

/** Null where it is no ISO date. Without an offset it is a time of the zone. */
function parseIsoMs(text: string, zone: Zone): number | null {
  const form = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?(Z|[+-]\d{2}:?\d{2})?$/i;
  const [matched, offset] = form.exec(text) ?? [];
  if (matched === undefined) return null;
  const zoned = offset === undefined && text.length > 10 ? `${text}Z` : text;
  const ms = Date.parse(zoned.replace(" ", "T"));
  if (Number.isNaN(ms) || ms < 0) return null;
  return offset === undefined ? zone.fromClockMs(ms) : ms;
}

export interface HostPort {
  host: string;
  port: number;
}

/** Host and port of `127.0.0.1:8080`, `[::1]:8080` or `localhost:0`; `:8080` means all addresses. */
export function parseHostPort(text: string): HostPort {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/i.exec(text.trim()) ?? [];
  if (port === undefined || Number(port) > 65_535) throw new UsageError("HOST:PORT such as 127.0.0.1:8080");
  const host = bracketed ?? plain ?? "";
  return { host: host === "" ? "0.0.0.0" : host, port: Number(port) };
}

/** A whole number from `min` to `max`, both inclusive. */
export function parseInteger(text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new UsageError(`an integer from ${min} to ${max}`);
  return value;
}

/** An http or https address; slashes at its end are removed. */
export function parseUrl(text: string): string {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError("an address such as http://127.0.0.1:8080");
  return url.href.replace(/\/+$/, "");
}
