import { createHash } from "node:crypto";

/**
 * What a system answered, in a form that all share: lines of text, sorted. A count is one line; groups are `labels… bucket count`;
 * rows are JSON.
 */
export type Answer = string[];

export function countAnswer(count: number): Answer {
  return [String(count)];
}

/** A group's labels, the start of its bucket in milliseconds (0 where there are none) and its rows. */
export type Group = readonly [labels: readonly string[], bucketMs: number, rows: number];

export function groupAnswer(groups: readonly Group[]): Answer {
  return groups.map(([labels, bucketMs, rows]) => [...labels, bucketMs, rows].join("\t")).sort();
}

/** Digits in which calculated values agree, in whatever order their numbers were added up. */
const valueDigits = 9;
/** Numbers with few decimals, and what lies between two of them, often stand just where rounding turns: this moves them away. */
const offTheEdge = 1 + 3.7e-11;

/** A group's labels, the start of its bucket in milliseconds and what was calculated. */
export function valueAnswer(groups: readonly Group[]): Answer {
  return groups
    .map(([labels, bucketMs, value]) =>
      [...labels, bucketMs, Number((value * offTheEdge).toPrecision(valueDigits))].join("\t"),
    )
    .sort();
}

/** The most frequent values. Where the list is cut, which of several equals are left out is not defined: those are left out of the answer. */
export function topAnswer(groups: readonly Group[], asked: number): Answer {
  if (groups.length < asked) return groupAnswer(groups);
  const least = Math.min(...groups.map(([, , rows]) => rows));
  return groupAnswer(groups.filter(([, , rows]) => rows > least));
}

export interface AnswerRow {
  timeNs: bigint;
  level: string;
  message: string;
  /** Those that are not empty, in any order. */
  attributes: readonly (readonly [key: string, value: string])[];
}

/** The newest rows. Where the list is cut, which of several rows of one time are left out is not defined: those are left out of the answer. */
export function rowAnswer(rows: readonly AnswerRow[], asked: number): Answer {
  const oldest = rows.reduce((least, { timeNs }) => (timeNs < least ? timeNs : least), rows[0]?.timeNs ?? 0n);
  return rows
    .filter(({ timeNs }) => rows.length < asked || timeNs > oldest)
    .map(({ timeNs, level, message, attributes }) => {
      const known = attributes.filter(([, value]) => value !== "").map(([key, value]) => `${key}=${value}`);
      return JSON.stringify([String(timeNs), level, message, ...known.sort()]);
    })
    .sort();
}

/** Equal answers have equal hashes. */
export function answerHash(answer: Answer): string {
  return createHash("sha256").update(answer.join("\n")).digest("base64url").slice(0, 16);
}

/** The lines that one of two answers alone has, as text for people. */
export function answerDifference(left: Answer, right: Answer, linesMax: number): string {
  const only = (some: Answer, others: Answer): string[] => {
    const known = new Set(others);
    return some.filter((line) => !known.has(line));
  };
  const shown = (sign: string, lines: string[]): string[] => [
    ...lines.slice(0, linesMax).map((line) => `  ${sign} ${line.slice(0, 300)}`),
    ...(lines.length > linesMax ? [`  ${sign} … and ${lines.length - linesMax} more lines`] : []),
  ];
  return [...shown("-", only(left, right)), ...shown("+", only(right, left))].join("\n");
}
