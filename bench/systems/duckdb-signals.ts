/** Spans and samples in DuckDB: tables, inserts and queries. */
import type { BenchDataset } from "../datasets/dataset.ts";
import {
  type BenchQuestion,
  bucketSecondsOf,
  durationQuantile,
  increaseAgeMsMax,
  topValues,
} from "../datasets/question.ts";
import { attributeKeysOf, quoteSql } from "./sql.ts";

/** Ids are stored as numbers of 128 and 64 bits. */
export function makeSpanStatements({ file, attributes }: BenchDataset): string[] {
  const keys = attributeKeysOf(attributes);
  const columns = keys.map((key) => `"${key}" VARCHAR`).join(", ");
  const texts = ["traceId", "spanId", "parentSpanId", "name", "kind", "statusCode", "statusMessage"];
  const times = ["startTimeUnixNano", "endTimeUnixNano"];
  const types = [...texts, ...times].map((key) => `${key}: 'VARCHAR'`).join(", ");
  const id = (key: string): string => `('0x' || nullif(${key}, ''))::UBIGINT`;
  return [
    `CREATE TABLE spans (time_ns BIGINT, duration_ms DOUBLE, trace_id UUID, span_id UBIGINT, parent_span_id UBIGINT,
      name VARCHAR, kind VARCHAR, status_code VARCHAR, status_message VARCHAR, ${columns})`,
    `INSERT INTO spans SELECT startTimeUnixNano::BIGINT,
        (endTimeUnixNano::BIGINT - startTimeUnixNano::BIGINT)::DOUBLE / 1e6,
        traceId::UUID, ${id("spanId")}, ${id("parentSpanId")}, name, kind, statusCode, statusMessage,
        ${keys.map((key) => `attributes."${key}"`).join(", ")}
      FROM read_json(${quoteSql(file)}, format = 'newline_delimited',
        columns = {${types}, attributes: 'STRUCT(${columns})'})`,
  ];
}

/**
 * One table of series, numbered in the order of name and labels; one of samples, sorted by series and time, so that
 * zone maps prune.
 */
export function makeSampleStatements({ file, attributes }: BenchDataset): string[] {
  const keys = attributeKeysOf(attributes);
  const columns = keys.map((key) => `"${key}" VARCHAR`).join(", ");
  const labels = keys.map((key) => `"${key}"`).join(", ");
  const fields = keys.map((key) => `coalesce(labels."${key}", '') AS "${key}"`).join(", ");
  const rows = `SELECT name, ${fields}, timestamp AS time_ms, value FROM read_json(${quoteSql(file)}, format = 'newline_delimited',
    columns = {timestamp: 'BIGINT', name: 'VARCHAR', value: 'DOUBLE', labels: 'STRUCT(${columns})'})`;
  return [
    `CREATE TABLE series (series INTEGER PRIMARY KEY, name VARCHAR, ${columns})`,
    "CREATE TABLE samples (series INTEGER, time_ms BIGINT, value DOUBLE)",
    `CREATE TEMP TABLE sent AS ${rows}`,
    `INSERT INTO series SELECT row_number() OVER (ORDER BY name, ${labels}), *
      FROM (SELECT DISTINCT name, ${labels} FROM sent)`,
    `INSERT INTO samples SELECT series, time_ms, value FROM sent JOIN series USING (name, ${labels})
      ORDER BY series, time_ms`,
  ];
}

export function toSignalSql({ kind, text }: BenchQuestion, keys: readonly string[]): string {
  const seconds = bucketSecondsOf(kind);
  const minute = `time_ns // ${seconds}000000000`;
  switch (kind) {
    case "spanDurations":
      return `SELECT "service.name", ${minute} AS bucket, quantile_cont(duration_ms, ${durationQuantile})
        FROM spans GROUP BY ALL`;
    case "spansByMinute":
      return `SELECT "service.name", ${minute} AS bucket, count(*) FROM spans GROUP BY ALL`;
    case "spanNames":
      return `SELECT name, count(*) AS rows FROM spans GROUP BY name ORDER BY rows DESC LIMIT ${topValues}`;
    case "tracesByHour":
      return `SELECT '', ${minute} AS bucket, count(DISTINCT trace_id) FROM spans GROUP BY bucket`;
    case "gaugeAverage":
      // Averages each series first, so that a series with more samples has no more weight than others.
      return `SELECT "service.name", bucket, avg(value) FROM (
          SELECT series, time_ms // ${seconds}000 AS bucket, avg(value) AS value FROM samples
          WHERE ${makeMetricCondition(text)} GROUP BY ALL
        ) JOIN series USING (series) GROUP BY ALL`;
    case "serviceIncrease":
      return `SELECT "service.name", bucket, sum(increase) FROM (${makeIncreaseSql(text, seconds)})
        JOIN series USING (series) GROUP BY ALL`;
    default:
      return `SELECT bucket, increase, ${keys.map((key) => `"${key}"`).join(", ")}
        FROM (${makeIncreaseSql(text, seconds)}) JOIN series USING (series)`;
  }
}

/** The increase from the previous sample, unless there is none or it is too old; after a reset, the value itself. */
function makeIncreaseSql(name: string, seconds: number): string {
  return `SELECT series, time_ms // ${seconds}000 AS bucket,
      sum(CASE WHEN value < value_before THEN value ELSE value - value_before END) AS increase
    FROM (
      SELECT series, time_ms, value, lag(value) OVER w AS value_before, lag(time_ms) OVER w AS ms_before
      FROM samples WHERE ${makeMetricCondition(name)} WINDOW w AS (PARTITION BY series ORDER BY time_ms)
    ) WHERE time_ms - ms_before <= ${increaseAgeMsMax} GROUP BY ALL`;
}

/** The series of one name have consecutive numbers. */
function makeMetricCondition(name: string): string {
  const series = (end: string): string =>
    `(SELECT ${end}(series) FROM series WHERE name = ${quoteSql(name)})`;
  return `series BETWEEN ${series("min")} AND ${series("max")}`;
}
