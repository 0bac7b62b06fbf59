/** Reads the RFC 3339 times of log lines. Neighbouring lines share the second, so that most take two comparisons. */

const secondLength = "2026-01-29T08:42:00".length;
const dot = 0x2e;
const zero = 0x30;

export class LogTime {
  #second = "";
  #zone = "";
  /** Seconds since the epoch, as digits. */
  #seconds = "";

  /** Returns the digits of nanoseconds since the epoch; undefined where `text` has no time between these indexes. */
  read(text: string, from: number, to: number): string | undefined {
    const end = from + secondLength;
    if (to <= end) return undefined;
    let zoneAt = end;
    if (text.charCodeAt(end) === dot) {
      zoneAt++;
      while (zoneAt < to && isDigit(text.charCodeAt(zoneAt))) zoneAt++;
    }
    const isKnown =
      this.#seconds !== "" &&
      text.startsWith(this.#second, from) &&
      to - zoneAt === this.#zone.length &&
      text.startsWith(this.#zone, zoneAt);
    if (!isKnown && !this.#readSecond(text.slice(from, end), text.slice(zoneAt, to))) return undefined;
    const fraction = text.slice(end + 1, Math.min(zoneAt, end + 10));
    return this.#seconds + (fraction.length === 9 ? fraction : fraction.padEnd(9, "0"));
  }

  #readSecond(second: string, zone: string): boolean {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(second) || !/^(?:Z|[+-]\d\d:\d\d)$/.test(zone)) return false;
    const ms = Date.parse(second + zone);
    if (!(ms >= 0)) return false;
    this.#second = second;
    this.#zone = zone;
    this.#seconds = String(ms / 1000);
    return true;
  }
}

function isDigit(code: number): boolean {
  return code >= zero && code <= zero + 9;
}

/** Milliseconds since the epoch of digits of nanoseconds. */
export function millisOf(nanos: string): number {
  return Number(nanos) / 1e6;
}
