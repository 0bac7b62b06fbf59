/** Which texts are quantities: numbers with a unit of time or of bytes, as programs print them. */

/** A quantity in nanoseconds or in bytes. */
export interface Quantity {
  unit: "ns" | "bytes";
  number: number;
}

const minuteNs = 6e10;
const unitNs: Readonly<Record<string, number>> = {
  ...{ ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9, m: minuteNs, h: 60 * minuteNs },
  ...{ d: 1_440 * minuteNs, w: 7 * 1_440 * minuteNs, y: 365 * 1_440 * minuteNs },
};
const durationParts = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|[smhdwy])/g;
const wholeDuration = new RegExp(`^[+-]?(?:${durationParts.source})+$`);
const byteCount = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)) ?(?:([kmgtpe])?b|([kmgtpe])ib?)$/i;

/**
 * The quantity of a text: a duration such as `20ms`, `1.5s` or `1h30m`, whose units are those of Go's durations and d, w
 * and y; or bytes such as `512B`, `1.5KB` (1,000 bytes), `1.5KiB` or `2Mi` (1,024), with a space before the unit or none,
 * and in any case. Undefined for other texts, numbers without a unit among them.
 */
export function parseQuantity(text: string): Quantity | undefined {
  const bytes = byteCount.exec(text);
  if (bytes !== null) {
    const [, number, decimal, binary] = bytes;
    const power = decimal ?? binary;
    const exponent = power === undefined ? 0 : "kmgtpe".indexOf(power.toLowerCase()) + 1;
    return { unit: "bytes", number: Number(number) * (binary === undefined ? 1_000 : 1_024) ** exponent };
  }
  if (!wholeDuration.test(text)) return undefined;
  let number = 0;
  for (const [, count, unit] of text.matchAll(durationParts)) {
    number += Math.round(Number(count) * unitNs[unit!]!);
  }
  return { unit: "ns", number: text.startsWith("-") ? -number : number };
}
