/** SQL text and results that the two SQL peers share. */

import type { BenchDataset } from "../datasets/dataset.ts";
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

/** How a table of logs keeps the attributes. */
export interface LogColumns {
  /** Attributes with a column each. */
  keys: readonly string[];
  /** The attribute whose members are in one map, the table's last column. */
  map: string | undefined;
}

export function logColumnsOf({ attributes, mapAttribute: map }: BenchDataset): LogColumns {
  return { keys: attributeKeysOf(attributes).filter((key) => !key.startsWith(`${map}.`)), map };
}

/** Attributes that are sent nested: a field is a leaf, or an object of fields. */
export type FieldTree = Map<string, FieldTree | undefined>;

export function toFieldTree(keys: readonly string[]): FieldTree {
  const root: FieldTree = new Map();
  for (const key of keys) {
    const names = key.split(".");
    const last = names.pop()!;
    let at = root;
    for (const name of names) {
      if (at.get(name) === undefined) at.set(name, new Map());
      at = at.get(name)!;
    }
    at.set(last, undefined);
  }
  return root;
}

export function quoteSql(toText: string): string {
  return `'${toText.replaceAll("'", "''")}'`;
}

/**
 * Converts a result. Log rows are `time_ns, level, message, attributes…` and the map, if there is one; groups are `label, bucket, rows` or `label,
 * rows`, where the bucket is a number of bucket widths; groups by series are `bucket, value, labels…`; a count is one
 * number.
 */
export function toSqlAnswer(
  { kind }: BenchQuestion,
  rows: readonly SqlRow[],
  columns: LogColumns,
): CanonicalAnswer {
  const { keys } = columns;
  switch (kind) {
    case "newestWord":
    case "newestService":
    case "newest":
    case "trace":
      return toRowAnswer(
        rows.map((row) => toAnswerRow(row, columns)),
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
    case "topOfMany":
    case "topValues":
      return toTopAnswer(
        rows.map(([label, count]) => [[toText(label)], 0, Number(count)]),
        topValues,
      );
    default:
      return toCountAnswer(Number(rows[0]![0]));
  }
}

function toAnswerRow([timeNs, level, message, ...values]: SqlRow, { keys, map }: LogColumns) {
  const members = map === undefined ? [] : entriesOf(values[keys.length]);
  return {
    timeNs: BigInt(String(timeNs)),
    level: toText(level),
    message: toText(message),
    attributes: [
      ...keys.map((key, at) => [key, toText(values[at])] as const),
      ...members.map(([key, value]) => [`${map}.${key}`, value] as const),
    ],
  };
}

/** The entries of a map, which DuckDB returns as a list of them and ClickHouse as an object. */
function entriesOf(map: unknown): [key: string, value: string][] {
  if (map === null || map === undefined) return [];
  const { entries } = map as { entries?: unknown };
  if (Array.isArray(entries)) return entries.map(({ key, value }) => [toText(key), toText(value)]);
  return Object.entries(map as Record<string, string>);
}

function toText(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
