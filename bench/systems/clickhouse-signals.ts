/** Spans and samples in ClickHouse: tables, inserts and queries. */
import type { BenchDataset } from "../datasets/dataset.ts";
import {
  type BenchQuestion,
  bucketSecondsOf,
  durationQuantile,
  increaseAgeMsMax,
  topValues,
} from "../datasets/question.ts";
import { attributeKeysOf, quoteSql } from "./sql.ts";

const durable = "SETTINGS fsync_after_insert = 1, fsync_part_directory = 1";
const dictionary = "LowCardinality(String) CODEC(ZSTD(1))";

/** Ids are stored as numbers of 128 and 64 bits. */
export function makeSpanTables({ attributes }: BenchDataset, columnSql: (key: string) => string): string[] {
  return [
    `CREATE TABLE spans (
      time_ns Int64 CODEC(Delta(8), ZSTD(1)),
      duration_ms Float64 CODEC(ZSTD(1)),
      trace_id UInt128 CODEC(ZSTD(1)),
      span_id UInt64 CODEC(ZSTD(1)),
      parent_span_id UInt64 CODEC(ZSTD(1)),
      name ${dictionary}, kind ${dictionary}, status_code ${dictionary}, status_message ${dictionary},
      ${attributeKeysOf(attributes).map(columnSql).join(",\n      ")}
    ) ENGINE = MergeTree ORDER BY time_ns ${durable}`,
  ];
}

export function makeSpanInserts({ file, attributes }: BenchDataset): string[] {
  const texts = ["traceId", "spanId", "parentSpanId", "name", "kind", "statusCode", "statusMessage"];
  const times = ["startTimeUnixNano", "endTimeUnixNano"];
  const structure = [...texts, ...times].map((key) => `${key} String`).join(", ");
  const fields = attributeKeysOf(attributes).map((key) => `attributes[${quoteSql(key)}]`);
  const [start, end] = times.map((key) => `toInt64(${key})`);
  return [
    `INSERT INTO spans SELECT ${start}, (${end} - ${start}) / 1e6,
      reinterpretAsUInt128(reverse(unhex(traceId))), reinterpretAsUInt64(reverse(unhex(spanId))),
      reinterpretAsUInt64(reverse(unhex(parentSpanId))), name, kind, statusCode, statusMessage, ${fields.join(", ")}
      FROM file(${quoteSql(file)}, 'JSONEachRow', ${quoteSql(`${structure}, attributes Map(LowCardinality(String), String)`)})`,
  ];
}

/** One table of series, keyed by a hash of name and labels; one of samples, sorted by metric, series and time. */
export function makeSampleTables({ attributes }: BenchDataset, columnSql: (key: string) => string): string[] {
  return [
    `CREATE TABLE series (series UInt64, name LowCardinality(String), ${attributeKeysOf(attributes).map(columnSql).join(", ")})
      ENGINE = MergeTree ORDER BY (name, series) ${durable}`,
    `CREATE TABLE samples (
      name ${dictionary},
      series UInt64 CODEC(ZSTD(1)),
      time_ms Int64 CODEC(DoubleDelta, ZSTD(1)),
      value Float64 CODEC(ZSTD(1))
    ) ENGINE = MergeTree ORDER BY (name, series, time_ms) ${durable}`,
  ];
}

export function makeSampleInserts({ file, attributes }: BenchDataset): string[] {
  const keys = attributeKeysOf(attributes);
  const structure =
    "timestamp Int64, name LowCardinality(String), value Float64, labels Map(LowCardinality(String), String)";
  const fields = keys.map((key) => `labels[${quoteSql(key)}]`).join(", ");
  const series = `cityHash64(name, ${fields})`;
  const rows = `FROM file(${quoteSql(file)}, 'JSONEachRow', ${quoteSql(structure)})`;
  return [
    `INSERT INTO samples SELECT name, ${series}, timestamp, value ${rows}`,
    `INSERT INTO series SELECT DISTINCT ${series}, name, ${fields} ${rows}`,
  ];
}

export function toSignalSql({ kind, text }: BenchQuestion, keys: readonly string[]): string {
  const seconds = bucketSecondsOf(kind);
  const minute = `intDiv(time_ns, ${seconds}000000000)`;
  switch (kind) {
    case "spanDurations":
      return `SELECT \`service.name\`, ${minute} AS bucket, quantileExactInclusive(${durationQuantile})(duration_ms)
        FROM spans GROUP BY 1, 2`;
    case "spansByMinute":
      return `SELECT \`service.name\`, ${minute} AS bucket, count() FROM spans GROUP BY 1, 2`;
    case "spanNames":
      return `SELECT name, count() AS rows FROM spans GROUP BY 1 ORDER BY rows DESC LIMIT ${topValues}`;
    case "tracesByHour":
      return `SELECT '', ${minute} AS bucket, uniqExact(trace_id) FROM spans GROUP BY bucket`;
    case "gaugeAverage":
      // Averages each series first, so that a series with more samples has no more weight than others.
      return `SELECT \`service.name\`, bucket, avg(value) FROM (
          SELECT series, intDiv(time_ms, ${seconds}000) AS bucket, avg(value) AS value FROM samples
          WHERE name = ${quoteSql(text)} GROUP BY series, bucket
        ) AS averages ${makeSeriesJoin(text)} GROUP BY 1, 2`;
    case "serviceIncrease":
      return `SELECT \`service.name\`, bucket, sum(increase) FROM (${makeIncreaseSql(text, seconds)}) AS increases
        ${makeSeriesJoin(text)} GROUP BY 1, 2`;
    default:
      return `SELECT bucket, increase, ${keys.map((key) => `\`${key}\``).join(", ")}
        FROM (${makeIncreaseSql(text, seconds)}) AS increases ${makeSeriesJoin(text)}`;
  }
}

function makeSeriesJoin(name: string): string {
  return `INNER JOIN (SELECT * FROM series WHERE name = ${quoteSql(name)}) AS series USING (series)`;
}

/** The increase from the previous sample, unless there is none or it is too old; after a reset, the value itself. */
function makeIncreaseSql(name: string, seconds: number): string {
  return `SELECT series, intDiv(time_ms, ${seconds}000) AS bucket,
      sum(if(value < value_before, value, value - value_before)) AS increase
    FROM (
      SELECT series, time_ms, value, lagInFrame(value) OVER w AS value_before, lagInFrame(time_ms) OVER w AS ms_before
      FROM samples WHERE name = ${quoteSql(name)}
      WINDOW w AS (PARTITION BY series ORDER BY time_ms ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    ) WHERE time_ms - ms_before <= ${increaseAgeMsMax} GROUP BY series, bucket`;
}
