/** Parses ISO 8601 and RFC 3339 times to nanoseconds. */

const form = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(Z|z|[+-]\d\d:?\d\d)?$/;

/** Returns nanoseconds since the epoch, UTC where the text names no zone; undefined for any other text. */
export function isoNanos(text: string): bigint | undefined {
  const [, date, time, fraction = "", zone = "Z"] = form.exec(text) ?? [];
  if (date === undefined) return undefined;
  const ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}
