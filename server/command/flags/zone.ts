/** The time zone in which a command reads and prints times. */

const minuteMs = 60_000;

const pad = (value: number) => String(value).padStart(2, "0");

export class Zone {
  /** Undefined for UTC. */
  readonly #format: Intl.DateTimeFormat | undefined;

  /** `name`: an IANA name of a time zone. Throws RangeError where it is unknown. */
  constructor(name: string) {
    // A format takes long to make, and every command has the zone UTC.
    if (name === "UTC") return;
    const format = new Intl.DateTimeFormat("en", { timeZone: name, timeZoneName: "longOffset" });
    if (format.resolvedOptions().timeZone !== "UTC") this.#format = format;
  }

  /** `2026-01-29T09:42:00.000+01:00`, or with `Z` at its end for UTC. */
  print(ms: number): string {
    if (this.#format === undefined) return new Date(ms).toISOString();
    const offset = this.#offsetMinutes(ms);
    const size = Math.abs(offset);
    const sign = offset < 0 ? "-" : "+";
    const local = new Date(ms + offset * minuteMs).toISOString().slice(0, -1);
    return `${local}${sign}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
  }

  /** What a clock of the zone shows, as the milliseconds at which a clock of UTC shows it. */
  toClockMs(ms: number): number {
    return ms + this.#offsetMinutes(ms) * minuteMs;
  }

  /** When a clock of the zone shows what one of UTC shows at `clockMs`; the earlier time where it does so twice. */
  fromClockMs(clockMs: number): number {
    const before = clockMs - this.#offsetMinutes(clockMs - 24 * 60 * minuteMs) * minuteMs;
    if (this.toClockMs(before) === clockMs) return before;
    return clockMs - this.#offsetMinutes(before) * minuteMs;
  }

  /** Minutes by which the zone is ahead of UTC. */
  #offsetMinutes(ms: number): number {
    if (this.#format === undefined) return 0;
    const name = this.#format.formatToParts(ms).find(({ type }) => type === "timeZoneName")!.value;
    const [, sign, hours, minutes = "0"] = /^GMT(?:([+-])(\d+)(?::(\d+))?)?/.exec(name) ?? [];
    if (sign === undefined) return 0;
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  }
}

export const utc = new Zone("UTC");
