import { printVariable, type Variable } from "./variable.ts";

/** A length of time, as in `[5m]` and `offset 1d`. */
export interface Duration {
  readonly kind: "duration";
  /** As it is written: whole numbers, each with a unit, from the longest unit on. */
  readonly text: string;
}

export function makeDuration(text: string): Duration {
  return Object.freeze({ kind: "duration", text });
}

/** Seconds of a unit. A day has 24 hours, a year 365 days. */
const unitSeconds: Readonly<Record<string, number>> = {
  ...{ y: 31_536_000, w: 604_800, d: 86_400, h: 3_600, m: 60, s: 1, ms: 0.001 },
};

/** A text with the form of a duration: `1h30m`. Units stand in their order, each at most once. */
const durationPattern = /(?=\d)(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?/;
const wholeDuration = new RegExp(`^${durationPattern.source}$`);

/** The seconds of a duration; undefined for a text that is not one. */
export function parseDurationSeconds(text: string): number | undefined {
  if (text === "" || !wholeDuration.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([a-z]+)/g))
    seconds += Number(count) * unitSeconds[unit!]!;
  return seconds;
}

export function printDuration(node: Duration | Variable): string {
  return node.kind === "duration" ? node.text : printVariable(node);
}
