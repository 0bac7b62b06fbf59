import type { NeedleKind } from "../../fixtures/needles.ts";

/** Kinds that count the lines holding a text: ripgrep can answer them from the bare messages. */
export const lineKinds = [
  "absent",
  "rare",
  "substring",
  "phrase",
  "regex",
  "variableRegex",
  "number",
  "id",
  "ignoreCase",
] as const;

/** Kinds of questions about logs, in the order of the table. */
export const logKinds = [
  ...lineKinds,
  "newestWord",
  "newestService",
  "newest",
  "byService",
  "byMinuteLevel",
  "serviceByMinuteLevel",
  "topValues",
  "topOfMany",
  "trace",
  "serviceWindow",
  "errorShare",
  "sequence",
] as const;

export const spanKinds = ["spanDurations", "spansByMinute", "spanNames", "tracesByHour"] as const;
export const gaugeKinds = ["gaugeAverage"] as const;
export const counterKinds = ["seriesIncrease", "serviceIncrease"] as const;

export const signalKinds = [...spanKinds, ...gaugeKinds, ...counterKinds] as const;
export const questionKinds = [...logKinds, ...signalKinds] as const;
export type QuestionKind = (typeof questionKinds)[number];

/** One query with its own needle or time range, the same for every system. */
export interface BenchQuestion {
  kind: QuestionKind;
  /** A needle, regular expression, service, trace id or metric name; "" where the kind has none. */
  text: string;
  /** The literal text that every match begins with; only for regular expressions. */
  literal?: string;
  /** The word of the second row; only for `sequence`. */
  second?: string;
  /** The attribute whose values are counted; only for `topValues` and `topOfMany`. */
  attribute?: string;
  /** Milliseconds since the epoch: the first row's time, or some milliseconds before it. */
  startMs: number;
  /** Inclusive, the whole millisecond. The last row's time or later, except for `newest`. */
  endMs: number;
}

export interface QuestionShape {
  name: string;
  /** Where the texts come from; undefined where questions of the kind differ only by their time range. */
  needles: NeedleKind | undefined;
  /** How many times faster than the best peer svc is meant to be. */
  aim: number;
  /** Width of the time buckets; one bucket holds all rows when absent. */
  bucketSeconds?: number;
}

/** The same for the first question of a process, of any kind: at most 1.5 times what the best peer needs for its first. */
export const coldAim = 2 / 3;

export const questionShapes: Readonly<Record<QuestionKind, QuestionShape>> = {
  absent: { name: "count a word that occurs nowhere", needles: "absent", aim: 10 },
  rare: { name: "count a rare word", needles: "rare", aim: 10 },
  substring: { name: "count a common substring", needles: "substring", aim: 10 },
  phrase: { name: "count a phrase", needles: "phrase", aim: 10 },
  regex: { name: "count a regular expression", needles: "regex", aim: 10 },
  variableRegex: { name: "count a regular expression over variables", needles: undefined, aim: 3 },
  number: { name: "count a number in variables", needles: "number", aim: 4 },
  id: { name: "count a UUID in variables", needles: "id", aim: 4 },
  ignoreCase: { name: "count a word in any case", needles: "ignoreCase", aim: 4 },
  newestWord: { name: "newest 100 holding a word", needles: "common", aim: 3 },
  newestService: { name: "newest 100 of one service", needles: "service", aim: 3 },
  newest: { name: "newest 100 of all", needles: undefined, aim: 3 },
  byService: { name: "count by service", needles: undefined, aim: 3 },
  byMinuteLevel: { name: "count by minute and level", needles: undefined, aim: 3, bucketSeconds: 60 },
  serviceByMinuteLevel: { name: "the same for one service", needles: "service", aim: 3, bucketSeconds: 60 },
  topValues: { name: "top 10 values of an attribute", needles: undefined, aim: 3 },
  topOfMany: { name: "top 10 values of an attribute of thousands", needles: undefined, aim: 3 },
  trace: { name: "find a trace id", needles: "trace", aim: 3 },
  serviceWindow: {
    name: "rows of 15 minutes by service, each 5 minutes",
    needles: undefined,
    aim: 3,
    bucketSeconds: 300,
  },
  errorShare: {
    name: "share of errors by service and minute",
    needles: undefined,
    aim: 3,
    bucketSeconds: 60,
  },
  sequence: { name: "one word, then another within 5 s, by service", needles: "common", aim: 3 },
  spanDurations: {
    name: "p95 of durations by service and minute",
    needles: undefined,
    aim: 3,
    bucketSeconds: 60,
  },
  spansByMinute: { name: "spans by service and minute", needles: undefined, aim: 3, bucketSeconds: 60 },
  spanNames: { name: "top 10 names of spans", needles: undefined, aim: 3 },
  tracesByHour: { name: "different traces by hour", needles: undefined, aim: 3, bucketSeconds: 3600 },
  gaugeAverage: {
    name: "average gauge by service and 5 minutes",
    needles: undefined,
    aim: 3,
    bucketSeconds: 300,
  },
  seriesIncrease: {
    name: "increase by series and 5 minutes",
    needles: undefined,
    aim: 3,
    bucketSeconds: 300,
  },
  serviceIncrease: {
    name: "increase by service and 5 minutes",
    needles: undefined,
    aim: 3,
    bucketSeconds: 300,
  },
};

/** Questions of a kind. A process is never timed on the same question twice. */
export const questionsPerKind = 100;
/** Limit of questions for the newest rows. */
export const newestRows = 100;
/** More rows than any trace has. */
export const traceRowsMax = 1000;
export const topValues = 10;

/** Buckets of a window of `serviceWindow`. */
export const windowBuckets = 3;
/** How long a sequence takes at most. */
export const sequenceSeconds = 5;
/** Levels that are errors, in lower case. */
export const errorLevels = ["error", "err", "crit", "alert", "severe"] as const;

/** Some 95 years: one bucket aligned to the epoch holds all rows. */
export const oneBucketSeconds = 3_000_000_000;

export const durationQuantile = 0.95;
/** An increase is measured from the previous sample, unless that is older than this. */
export const increaseAgeMsMax = 3_600_000;

export function bucketSecondsOf(kind: QuestionKind): number {
  return questionShapes[kind].bucketSeconds ?? oneBucketSeconds;
}
