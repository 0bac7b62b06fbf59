/**
 * The form in which the systems' answers are compared: sorted lines of text. A count is one line, a group is `labels…
 * bucket value` between tabs, a row is JSON.
 */
import { createHash } from "node:crypto";

export type CanonicalAnswer = string[];

/**
 * A group's labels, the start of its bucket in milliseconds (0 where there are none) and its count or calculated value.
 */
export type AnswerGroup = readonly [labels: readonly string[], bucketMs: number, value: number];

export interface AnswerRow {
  timeNs: bigint;
  level: string;
  message: string;
  /** In any order; empty values count as absent. */
  attributes: readonly (readonly [key: string, value: string])[];
}

/** Digits in which calculated values must agree: systems add numbers up in different orders. */
const valueDigits = 9;
/**
 * Values with few decimals, and halves between two of them, often lie exactly where rounding changes direction. This
 * factor moves them away from there.
 */
const roundingOffset = 1 + 3.7e-11;

export function toCountAnswer(count: number): CanonicalAnswer {
  return [String(count)];
}

export function toGroupAnswer(groups: readonly AnswerGroup[]): CanonicalAnswer {
  return groups.map(([labels, bucketMs, rows]) => [...labels, bucketMs, rows].join("\t")).sort();
}

/** Rounds the values to nine digits. */
export function toValueAnswer(groups: readonly AnswerGroup[]): CanonicalAnswer {
  return groups
    .map(([labels, bucketMs, value]) =>
      [...labels, bucketMs, Number((value * roundingOffset).toPrecision(valueDigits))].join("\t"),
    )
    .sort();
}

/**
 * The most frequent values. A full list omits those of the lowest count: which of several equal ones a system returns
 * is undefined.
 */
export function toTopAnswer(groups: readonly AnswerGroup[], limit: number): CanonicalAnswer {
  if (groups.length < limit) return toGroupAnswer(groups);
  const least = Math.min(...groups.map(([, , rows]) => rows));
  return toGroupAnswer(groups.filter(([, , rows]) => rows > least));
}

/**
 * The newest rows. A full list omits those of the oldest time: which of several rows of one time a system returns is
 * undefined.
 */
export function toRowAnswer(rows: readonly AnswerRow[], limit: number): CanonicalAnswer {
  const oldest = rows.reduce((least, { timeNs }) => (timeNs < least ? timeNs : least), rows[0]?.timeNs ?? 0n);
  return rows
    .filter(({ timeNs }) => rows.length < limit || timeNs > oldest)
    .map(({ timeNs, level, message, attributes }) => {
      const present = attributes.filter(([, value]) => value !== "").map(([key, value]) => `${key}=${value}`);
      return JSON.stringify([String(timeNs), level, message, ...present.sort()]);
    })
    .sort();
}

/** Equal answers have equal hashes. */
export function hashAnswer(answer: CanonicalAnswer): string {
  return createHash("sha256").update(answer.join("\n")).digest("base64url").slice(0, 16);
}

/** Lists the lines that only one of two answers has, at most `linesMax` of each side, marked - and +. */
export function formatAnswerDifference(
  left: CanonicalAnswer,
  right: CanonicalAnswer,
  linesMax: number,
): string {
  const subtract = (some: CanonicalAnswer, others: CanonicalAnswer): string[] => {
    const excluded = new Set(others);
    return some.filter((line) => !excluded.has(line));
  };
  const formatSide = (sign: string, lines: string[]): string[] => [
    ...lines.slice(0, linesMax).map((line) => `  ${sign} ${line.slice(0, 300)}`),
    ...(lines.length > linesMax ? [`  ${sign} … and ${lines.length - linesMax} more lines`] : []),
  ];
  return [...formatSide("-", subtract(left, right)), ...formatSide("+", subtract(right, left))].join("\n");
}
