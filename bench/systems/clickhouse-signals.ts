/** Spans and samples in ClickHouse: what its tables are, how rows get into them, and how they are asked. */
import type { Dataset } from "../dataset.ts";
import {
  bucketSecondsOf,
  durationQuantile,
  increaseAgeMsMax,
  type Question,
  topValues,
} from "../question.ts";
import { attributeKeys, sqlText } from "./sql.ts";

const durable = "SETTINGS fsync_after_insert = 1, fsync_part_directory = 1";
const dictionary = "LowCardinality(String) CODEC(ZSTD(1))";

/** Ids are 128 and 64 bits, not texts. */
export function spanTables({ attributes }: Dataset, columnSql: (key: string) => string): string[] {
  return [
    `CREATE TABLE spans (
      time_ns Int64 CODEC(Delta(8), ZSTD(1)),
      duration_ms Float64 CODEC(ZSTD(1)),
      trace_id UInt128 CODEC(ZSTD(1)),
      span_id UInt64 CODEC(ZSTD(1)),
      parent_span_id UInt64 CODEC(ZSTD(1)),
      name ${dictionary}, kind ${dictionary}, status_code ${dictionary}, status_message ${dictionary},
      ${attributeKeys(attributes).map(columnSql).join(",\n      ")}
    ) ENGINE = MergeTree ORDER BY time_ns ${durable}`,
  ];
}

export function spanInserts({ file, attributes }: Dataset): string[] {
  const texts = ["traceId", "spanId", "parentSpanId", "name", "kind", "statusCode", "statusMessage"];
  const times = ["startTimeUnixNano", "endTimeUnixNano"];
  const structure = [...texts, ...times].map((key) => `${key} String`).join(", ");
  const fields = attributeKeys(attributes).map((key) => `attributes[${sqlText(key)}]`);
  const [start, end] = times.map((key) => `toInt64(${key})`);
  return [
    `INSERT INTO spans SELECT ${start}, (${end} - ${start}) / 1e6,
      reinterpretAsUInt128(reverse(unhex(traceId))), reinterpretAsUInt64(reverse(unhex(spanId))),
      reinterpretAsUInt64(reverse(unhex(parentSpanId))), name, kind, statusCode, statusMessage, ${fields.join(", ")}
      FROM file(${sqlText(file)}, 'JSONEachRow', ${sqlText(`${structure}, attributes Map(LowCardinality(String), String)`)})`,
  ];
}

/** Series by themselves, under a hash of name and labels; samples in the order of metric, series and time. */
export function sampleTables({ attributes }: Dataset, columnSql: (key: string) => string): string[] {
  return [
    `CREATE TABLE series (series UInt64, name LowCardinality(String), ${attributeKeys(attributes).map(columnSql).join(", ")})
      ENGINE = MergeTree ORDER BY (name, series) ${durable}`,
    `CREATE TABLE samples (
      name ${dictionary},
      series UInt64 CODEC(ZSTD(1)),
      time_ms Int64 CODEC(DoubleDelta, ZSTD(1)),
      value Float64 CODEC(ZSTD(1))
    ) ENGINE = MergeTree ORDER BY (name, series, time_ms) ${durable}`,
  ];
}

export function sampleInserts({ file, attributes }: Dataset): string[] {
  const keys = attributeKeys(attributes);
  const structure =
    "timestamp Int64, name LowCardinality(String), value Float64, labels Map(LowCardinality(String), String)";
  const fields = keys.map((key) => `labels[${sqlText(key)}]`).join(", ");
  const series = `cityHash64(name, ${fields})`;
  const rows = `FROM file(${sqlText(file)}, 'JSONEachRow', ${sqlText(structure)})`;
  return [
    `INSERT INTO samples SELECT name, ${series}, timestamp, value ${rows}`,
    `INSERT INTO series SELECT DISTINCT ${series}, name, ${fields} ${rows}`,
  ];
}

export function signalQuestionSql({ kind, text }: Question, keys: readonly string[]): string {
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
      // The average of each series first: a series with more samples counts no more than others.
      return `SELECT \`service.name\`, bucket, avg(value) FROM (
          SELECT series, intDiv(time_ms, ${seconds}000) AS bucket, avg(value) AS value FROM samples
          WHERE name = ${sqlText(text)} GROUP BY series, bucket
        ) AS averages ${joinSeries(text)} GROUP BY 1, 2`;
    case "serviceIncrease":
      return `SELECT \`service.name\`, bucket, sum(increase) FROM (${increaseSql(text, seconds)}) AS increases
        ${joinSeries(text)} GROUP BY 1, 2`;
    default:
      return `SELECT bucket, increase, ${keys.map((key) => `\`${key}\``).join(", ")}
        FROM (${increaseSql(text, seconds)}) AS increases ${joinSeries(text)}`;
  }
}

function joinSeries(name: string): string {
  return `INNER JOIN (SELECT * FROM series WHERE name = ${sqlText(name)}) AS series USING (series)`;
}

/** From the sample before, if there is one that is not too old; behind a reset the value itself. */
function increaseSql(name: string, seconds: number): string {
  return `SELECT series, intDiv(time_ms, ${seconds}000) AS bucket,
      sum(if(value < value_before, value, value - value_before)) AS increase
    FROM (
      SELECT series, time_ms, value, lagInFrame(value) OVER w AS value_before, lagInFrame(time_ms) OVER w AS ms_before
      FROM samples WHERE name = ${sqlText(name)}
      WINDOW w AS (PARTITION BY series ORDER BY time_ms ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    ) WHERE time_ms - ms_before <= ${increaseAgeMsMax} GROUP BY series, bucket`;
}
