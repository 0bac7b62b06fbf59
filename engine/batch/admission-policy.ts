/** On which terms a draft takes rows beside the engine's own caps, and what became of those that are no plain case. */

import { clockMsMax, futureNsMax } from "../limits.ts";
import type { Exclusion } from "./exclusion.ts";

export interface EntryTerms {
  /** The clock that times are measured by. */
  nowMs: number;
  /** Rows further ahead of the clock are refused; a day where nothing else is asked for. */
  aheadMsMax?: number | undefined;
  /** Rows further behind the clock are refused; where nothing is asked for, those before 1970 alone. */
  behindMsMax?: number | undefined;
  /** Rows further off the clock, either way, are counted. */
  skewMs?: number | undefined;
  /** Bytes of level, message and attributes of a row together. */
  rowBytesMax?: number | undefined;
  /** The attribute that tells how many bytes a message had that was cut; undefined refuses the row. Only logs are cut. */
  cutMark?: string | undefined;
  /** What every row bears under these keys; another text that it brought there stands under `attributes.<key>`. */
  stamps?: Readonly<Record<string, string>> | undefined;
  /** Rows that one of these holds for are left out, and are no refused ones. */
  exclusions?: readonly Exclusion[] | undefined;
}

/** Rows of one draft, counted. */
export class EntryTally {
  refusedBehind = 0;
  refusedAhead = 0;
  /** Of those that were taken. */
  skewedBehind = 0;
  skewedAhead = 0;
  refusedLarge = 0;
  cut = 0;
  /** By the place of the first exclusion that held. */
  readonly excluded: number[];

  constructor({ exclusions = [] }: EntryTerms) {
    this.excluded = exclusions.map(() => 0);
  }
}

/** Whole seconds since the epoch, and nanoseconds of the second. */
interface Instant {
  seconds: number;
  nanos: number;
}

/** Which times are taken. */
export class TimeAdmission {
  readonly #tally: EntryTally;
  readonly #min: Instant;
  readonly #max: Instant;
  readonly #tooLow: string;
  readonly #tooHigh: string;
  readonly #skewMin: Instant | undefined;
  readonly #skewMax: Instant | undefined;

  constructor(terms: EntryTerms, tally: EntryTally) {
    const { nowMs, aheadMsMax: ahead = defaultAheadMs, behindMsMax: behind, skewMs } = terms;
    this.#tally = tally;
    this.#min = behind === undefined ? { seconds: 0, nanos: 0 } : toInstant(Math.max(0, nowMs - behind));
    this.#max = toInstant(nowMs + Math.min(ahead, clockMsMax));
    const isBound = behind !== undefined && nowMs > behind;
    this.#tooLow = isBound
      ? `the time is more than ${formatAge(behind)} behind the server's clock`
      : "the time is before 1970-01-01, the earliest that can be stored";
    this.#tooHigh = `the time is more than ${formatAge(ahead)} ahead of the server's clock`;
    if (skewMs === undefined) return;
    this.#skewMin = toInstant(nowMs - skewMs);
    this.#skewMax = toInstant(nowMs + skewMs);
  }

  /** Why a row of that time cannot be stored, or undefined. */
  findRefusal(seconds: number, nanos: number): string | undefined {
    if (isBefore(seconds, nanos, this.#min)) {
      this.#tally.refusedBehind++;
      return this.#tooLow;
    }
    if (!isAfter(seconds, nanos, this.#max)) return undefined;
    this.#tally.refusedAhead++;
    return this.#tooHigh;
  }

  /** Counts a row that was taken. */
  countSkew(seconds: number, nanos: number): void {
    if (this.#skewMin === undefined || this.#skewMax === undefined) return;
    if (isBefore(seconds, nanos, this.#skewMin)) this.#tally.skewedBehind++;
    else if (isAfter(seconds, nanos, this.#skewMax)) this.#tally.skewedAhead++;
  }
}

const defaultAheadMs = Number(futureNsMax / 1_000_000n);

function toInstant(ms: number): Instant {
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

/** In the largest unit that gives a whole number. */
function formatAge(ms: number): string {
  const [unit, name, one] = units.find(([each]) => ms % each === 0) ?? units.at(-1)!;
  return ms === unit ? one : `${ms / unit} ${name}`;
}
