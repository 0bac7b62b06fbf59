/** SQL text and results that the two SQL peers share. */

import {
  type BenchQuestion,
  bucketSecondsOf,
  newestRows,
  topValues,
  traceRowsMax,
} from "../datasets/question.ts";
import {
  type AnswerGroup,
  type CanonicalAnswer,
  toCountAnswer,
  toGroupAnswer,
  toRowAnswer,
  toTopAnswer,
  toValueAnswer,
} from "./answer.ts";

/** A row of a result: strings, numbers, bigints or nulls, as the peer's client returns them. */
export type SqlRow = readonly unknown[];

/** The table's attribute columns, in their order. */
export function attributeKeysOf(attributes: Readonly<Record<string, number>>): string[] {
  return Object.keys(attributes).sort();
}

export function quoteSql(toText: string): string {
  return `'${toText.replaceAll("'", "''")}'`;
}

/**
 * Converts a result. Log rows are `time_ns, level, message, attributes…`; groups are `label, bucket, rows` or `label,
 * rows`, where the bucket is a number of bucket widths; groups by series are `bucket, value, labels…`; a count is one
 * number.
 */
export function toSqlAnswer(
  { kind }: BenchQuestion,
  rows: readonly SqlRow[],
  keys: readonly string[],
): CanonicalAnswer {
  switch (kind) {
    case "newestWord":
    case "newestService":
    case "newest":
    case "trace":
      return toRowAnswer(
        rows.map((row) => toAnswerRow(row, keys)),
        kind === "trace" ? traceRowsMax : newestRows,
      );
    case "byMinuteLevel":
    case "serviceByMinuteLevel":
      return toGroupAnswer(
        rows.map(([level, minute, count]) => [[toText(level)], Number(minute) * 60_000, Number(count)]),
      );
    case "byService":
      return toGroupAnswer(rows.map(([label, count]) => [[toText(label)], 0, Number(count)]));
    case "serviceWindow":
    case "errorShare":
    case "spanDurations":
    case "spansByMinute":
    case "gaugeAverage":
    case "serviceIncrease":
    case "tracesByHour":
      return toValueAnswer(
        rows.map(
          ([label, bucket, value]): AnswerGroup => [
            [toText(label)],
            Number(bucket) * bucketSecondsOf(kind) * 1000,
            Number(value),
          ],
        ),
      );
    case "seriesIncrease":
      return toValueAnswer(
        rows.map(
          ([bucket, value, ...labels]): AnswerGroup => [
            keys.flatMap((key, at) => (toText(labels[at]) === "" ? [] : [`${key}=${toText(labels[at])}`])),
            Number(bucket) * bucketSecondsOf(kind) * 1000,
            Number(value),
          ],
        ),
      );
    case "spanNames":
    case "topValues":
      return toTopAnswer(
        rows.map(([label, count]) => [[toText(label)], 0, Number(count)]),
        topValues,
      );
    default:
      return toCountAnswer(Number(rows[0]![0]));
  }
}

function toAnswerRow([timeNs, level, message, ...values]: SqlRow, keys: readonly string[]) {
  return {
    timeNs: BigInt(String(timeNs)),
    level: toText(level),
    message: toText(message),
    attributes: keys.map((key, at) => [key, toText(values[at])] as const),
  };
}

function toText(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
