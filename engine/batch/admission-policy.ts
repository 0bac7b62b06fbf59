/**
 * The admission policy of a batch: which rows and samples the batch takes within the engine's own caps, and counts of
 * what it refused or changed.
 */

import { batchDaysMax, clockOffsetMsMax, futureNsMax } from "../limits.ts";
import { daySeconds, type Instant } from "../model/day.ts";
import type { Exclusion } from "./exclusion.ts";

/** Which rows a batch takes. Bytes are counted as UTF-8. */
export interface AdmissionPolicy {
  /** The server's clock, milliseconds since the epoch; times of rows are compared with it. */
  nowMs: number;
  /** Rows further ahead of the clock are refused; a day by default. */
  aheadMsMax?: number | undefined;
  /** Rows further behind the clock are refused; by default only those before 1970. */
  behindMsMax?: number | undefined;
  /** Rows further off the clock, ahead or behind, are counted as skewed; they are taken. By default none is counted. */
  skewMs?: number | undefined;
  /**
   * Cap for level, message and attributes (keys and values) of a row together; by default only the engine's own caps
   * hold.
   */
  rowBytesMax?: number | undefined;
  /**
   * Key of an attribute. Where it is given, a log message that is too long is truncated, and this attribute gets the
   * message's original length in bytes. Where it is undefined, such rows are refused. Only logs are truncated.
   */
  truncationKey?: string | undefined;
  /**
   * Attributes (labels, for metrics) that every row gets. A different value that a row brought under such a key is kept
   * under `attributes.<key>`.
   */
  stamps?: Readonly<Record<string, string>> | undefined;
  /** Rows that match one of these are dropped. They are counted as excluded, not as refused. */
  exclusions?: readonly Exclusion[] | undefined;
}

/** Counts of the rows of one batch that were refused, dropped or changed. */
export class AdmissionCounts {
  refusedBehind = 0;
  refusedAhead = 0;
  /** Rows that were taken although their time is further behind the clock than `skewMs`. */
  skewedBehind = 0;
  /** Rows that were taken although their time is further ahead of the clock than `skewMs`. */
  skewedAhead = 0;
  /** Rows that were refused because their message, or the row as a whole, is too long. */
  refusedLarge = 0;
  /** Rows whose message was truncated. */
  truncated = 0;
  /** Dropped rows, by the index of the first exclusion that matched. */
  readonly excluded: number[];

  constructor({ exclusions = [] }: AdmissionPolicy) {
    this.excluded = exclusions.map(() => 0);
  }
}

export interface TimeBounds {
  min: Instant;
  max: Instant;
  /** Absent where no row is counted as skewed. */
  skewMin: Instant | undefined;
  skewMax: Instant | undefined;
}

/**
 * Decides by a row's time whether the row is taken. Counts the rows that are refused, and those that are taken although
 * their time is skewed: further off the clock than `skewMs`.
 */
export class TimeAdmission {
  readonly #counts: AdmissionCounts;
  readonly #min: Instant;
  readonly #max: Instant;
  readonly #behindReason: string;
  readonly #aheadReason: string;
  readonly #skewMin: Instant | undefined;
  readonly #skewMax: Instant | undefined;
  /** Days of the rows so far. */
  readonly #days = new Set<number>();
  /** The day of the newest row: the next row is most likely of the same day. */
  #newestDay = -1;

  constructor(policy: AdmissionPolicy, counts: AdmissionCounts) {
    const { nowMs, aheadMsMax: ahead = defaultAheadMs, behindMsMax: behind, skewMs } = policy;
    this.#counts = counts;
    this.#min = behind === undefined ? { seconds: 0, nanos: 0 } : instantOfMs(Math.max(0, nowMs - behind));
    this.#max = instantOfMs(nowMs + Math.min(ahead, clockOffsetMsMax));
    const isBound = behind !== undefined && nowMs > behind;
    this.#behindReason = isBound
      ? `the time is more than ${formatAge(behind)} behind the server's clock`
      : "the time is before 1970-01-01, the earliest that can be stored";
    this.#aheadReason = `the time is more than ${formatAge(ahead)} ahead of the server's clock`;
    if (skewMs === undefined) return;
    this.#skewMin = instantOfMs(nowMs - skewMs);
    this.#skewMax = instantOfMs(nowMs + skewMs);
  }

  /** Rows before `min` or after `max` are refused; those before `skewMin` or after `skewMax` are skewed. */
  get bounds(): TimeBounds {
    return { min: this.#min, max: this.#max, skewMin: this.#skewMin, skewMax: this.#skewMax };
  }

  /** Returns why a row of this time cannot be stored, and counts the refusal; undefined where the row can be stored. */
  findRefusal(seconds: number, nanos: number): string | undefined {
    return this.#findOffClock(seconds, nanos) ?? this.#findDayRefusal(Math.floor(seconds / daySeconds));
  }

  #findDayRefusal(day: number): string | undefined {
    if (day === this.#newestDay || this.#days.size < batchDaysMax || this.#days.has(day)) return undefined;
    return `the batch already has rows of ${batchDaysMax} other days: send rows of fewer days at once`;
  }

  #findOffClock(seconds: number, nanos: number): string | undefined {
    if (isBefore(seconds, nanos, this.#min)) {
      this.#counts.refusedBehind++;
      return this.#behindReason;
    }
    if (!isAfter(seconds, nanos, this.#max)) return undefined;
    this.#counts.refusedAhead++;
    return this.#aheadReason;
  }

  /** Notes the day of a row that was taken, and counts the row if its time is skewed. */
  noteTaken(seconds: number, nanos: number): void {
    const day = Math.floor(seconds / daySeconds);
    if (day !== this.#newestDay) this.#days.add(day);
    this.#newestDay = day;
    if (this.#skewMin === undefined || this.#skewMax === undefined) return;
    if (isBefore(seconds, nanos, this.#skewMin)) this.#counts.skewedBehind++;
    else if (isAfter(seconds, nanos, this.#skewMax)) this.#counts.skewedAhead++;
  }
}

const defaultAheadMs = Number(futureNsMax / 1_000_000n);

function instantOfMs(ms: number): Instant {
  const whole = Math.trunc(ms);
  const seconds = Math.floor(whole / 1000);
  return { seconds, nanos: (whole - seconds * 1000) * 1e6 };
}

function isBefore(seconds: number, nanos: number, limit: Instant): boolean {
  return seconds < limit.seconds || (seconds === limit.seconds && nanos < limit.nanos);
}

function isAfter(seconds: number, nanos: number, limit: Instant): boolean {
  return seconds > limit.seconds || (seconds === limit.seconds && nanos > limit.nanos);
}

const units: readonly [ms: number, name: string, one: string][] = [
  [86_400_000, "days", "a day"],
  [3_600_000, "hours", "an hour"],
  [60_000, "minutes", "a minute"],
  [1_000, "seconds", "a second"],
  [1, "milliseconds", "a millisecond"],
];

/** A duration in the largest unit that gives a whole number. */
function formatAge(ms: number): string {
  const [unit, name, one] = units.find(([each]) => ms % each === 0) ?? units.at(-1)!;
  return ms === unit ? one : `${ms / unit} ${name}`;
}
