/** What the two peers that speak SQL have in common. */
import {
  type Answer,
  countAnswer,
  type Group,
  groupAnswer,
  rowAnswer,
  topAnswer,
  valueAnswer,
} from "../answer.ts";
import { bucketSecondsOf, newestRows, type Question, topValues, traceRowsMax } from "../question.ts";

/** A row of a result: texts, numbers or nulls, as the peer's client gives them. */
export type SqlRow = readonly unknown[];

/** The columns of attributes, in the order of the table. */
export function attributeKeys(attributes: Readonly<Record<string, number>>): string[] {
  return Object.keys(attributes).sort();
}

export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Rows are `time_ns, level, message, attributes…`; groups are `label, bucket, rows` or `label, rows`, of series `bucket, value,
 * labels…`; a count is one number.
 */
export function sqlAnswer({ kind }: Question, rows: readonly SqlRow[], keys: readonly string[]): Answer {
  switch (kind) {
    case "newestWord":
    case "newestService":
    case "newest":
    case "trace":
      return rowAnswer(
        rows.map((row) => logRow(row, keys)),
        kind === "trace" ? traceRowsMax : newestRows,
      );
    case "byMinuteLevel":
    case "serviceByMinuteLevel":
      return groupAnswer(
        rows.map(([level, minute, count]) => [[text(level)], Number(minute) * 60_000, Number(count)]),
      );
    case "byService":
      return groupAnswer(rows.map(([label, count]) => [[text(label)], 0, Number(count)]));
    case "spanDurations":
    case "spansByMinute":
    case "gaugeAverage":
    case "serviceIncrease":
    case "tracesByHour":
      return valueAnswer(
        rows.map(
          ([label, bucket, value]): Group => [
            [text(label)],
            Number(bucket) * bucketSecondsOf(kind) * 1000,
            Number(value),
          ],
        ),
      );
    case "seriesIncrease":
      return valueAnswer(
        rows.map(
          ([bucket, value, ...labels]): Group => [
            keys.flatMap((key, at) => (text(labels[at]) === "" ? [] : [`${key}=${text(labels[at])}`])),
            Number(bucket) * bucketSecondsOf(kind) * 1000,
            Number(value),
          ],
        ),
      );
    case "spanNames":
    case "topValues":
      return topAnswer(
        rows.map(([label, count]) => [[text(label)], 0, Number(count)]),
        topValues,
      );
    default:
      return countAnswer(Number(rows[0]![0]));
  }
}

function logRow([timeNs, level, message, ...values]: SqlRow, keys: readonly string[]) {
  return {
    timeNs: BigInt(String(timeNs)),
    level: text(level),
    message: text(message),
    attributes: keys.map((key, at) => [key, text(values[at])] as const),
  };
}

function text(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
