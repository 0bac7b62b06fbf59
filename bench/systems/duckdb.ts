import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BenchDataset } from "../datasets/dataset.ts";
import {
  type BenchQuestion,
  bucketSecondsOf,
  errorLevels,
  newestRows,
  type QuestionKind,
  questionKinds,
  sequenceSeconds,
  topValues,
  windowBuckets,
} from "../datasets/question.ts";
import { measureAllocatedBytes } from "../measure/disk.ts";
import { costBetween, readOwnCost } from "../measure/process.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import { makeSampleStatements, makeSpanStatements, toSignalSql } from "./duckdb-signals.ts";
import { loadPeerPackage } from "./peer-packages.ts";
import { type FieldTree, logColumnsOf, quoteSql, type SqlRow, toFieldTree, toSqlAnswer } from "./sql.ts";
import type { StoreTarget, System, SystemLoad } from "./system.ts";

/** The part of the `@duckdb/node-api` package that is used. */
interface DuckDb {
  DuckDBInstance: {
    create(
      path: string,
      options: Record<string, string>,
    ): Promise<{ connect(): Promise<Connection>; closeSync(): void }>;
  };
}

interface Connection {
  run(sql: string): Promise<unknown>;
  runAndReadAll(sql: string): Promise<{ getRows(): SqlRow[] }>;
  readonly progress: { percentage: number };
  closeSync(): void;
}

const progressEveryMs = 200;

export async function listKinds(): Promise<readonly QuestionKind[]> {
  return questionKinds;
}

async function connect({
  dir,
  threads,
}: StoreTarget): Promise<{ connection: Connection; close: () => void }> {
  const { DuckDBInstance } = await loadPeerPackage<DuckDb>("@duckdb/node-api");
  const instance = await DuckDBInstance.create(join(dir, "logs.duckdb"), { threads: String(threads) });
  const connection = await instance.connect();
  const close = (): void => {
    connection.closeSync();
    instance.closeSync();
  };
  return { connection, close };
}

export async function load(target: StoreTarget, show: ShowProgress): Promise<SystemLoad> {
  const { dir, dataset } = target;
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const { connection, close } = await connect(target);
  await connection.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
  const timer = setInterval(() => {
    const done = Math.floor((Math.max(connection.progress.percentage, 0) / 100) * dataset.rows);
    show({ step: `load ${dataset.name} into DuckDB`, done, total: dataset.rows, unit: "rows" });
  }, progressEveryMs);
  try {
    const costBefore = await readOwnCost();
    const begunMs = performance.now();
    for (const statement of makeStatements(dataset)) await connection.run(statement);
    const loadedMs = performance.now();
    await connection.run("CHECKPOINT");
    const settleSeconds = (performance.now() - loadedMs) / 1000;
    const lifeCost = costBetween(costBefore, await readOwnCost());
    const diskBytes = await measureAllocatedBytes(dir);
    const memoryBytesPeak = process.resourceUsage().maxRSS * 1024;
    const loadSeconds = (loadedMs - begunMs) / 1000;
    return { loadSeconds, ...lifeCost, settleSeconds, diskBytes, indexBytes: 0, memoryBytesPeak };
  } finally {
    clearInterval(timer);
    close();
  }
}

function makeStatements(dataset: BenchDataset): string[] {
  switch (dataset.signal) {
    case "logs":
      return makeLogStatements(dataset);
    case "spans":
      return makeSpanStatements(dataset);
    case "metrics":
      return makeSampleStatements(dataset);
  }
}

/**
 * The insert is one transaction, whose commit makes all rows durable. Rows come nearly in time order, so zone maps
 * prune by time.
 */
function makeLogStatements(dataset: BenchDataset): string[] {
  const { file } = dataset;
  const { keys, map } = logColumnsOf(dataset);
  const mapSql = map === undefined ? [] : [`"${map}" MAP(VARCHAR, VARCHAR)`];
  const attributes = [...keys.map((key) => `"${key}" VARCHAR`), ...mapSql].join(", ");
  const sent = map === undefined ? `STRUCT(${attributes})` : toStructType(toFieldTree(keys), mapSql);
  const types = `{timeUnixNano: 'VARCHAR', log_level: 'VARCHAR', message: 'VARCHAR', attributes: '${sent}'}`;
  const quote = (key: string): string =>
    map === undefined
      ? `"${key}"`
      : key
          .split(".")
          .map((name) => `"${name}"`)
          .join(".");
  const fields = [...keys, ...(map === undefined ? [] : [map])]
    .map((key) => `attributes.${quote(key)}`)
    .join(", ");
  return [
    `CREATE TABLE logs (time_ns BIGINT, level VARCHAR, message VARCHAR, ${attributes})`,
    `INSERT INTO logs SELECT timeUnixNano::BIGINT, log_level, message, ${fields}
      FROM read_json(${quoteSql(file)}, format = 'newline_delimited', columns = ${types})`,
  ];
}

/** The type of attributes that are sent nested. */
function toStructType(fields: FieldTree, more: readonly string[]): string {
  const parts = [...fields].map(
    ([name, members]) => `"${name}" ${members === undefined ? "VARCHAR" : toStructType(members, [])}`,
  );
  return `STRUCT(${[...parts, ...more].join(", ")})`;
}

export async function open(target: StoreTarget): Promise<System> {
  const { connection, close } = await connect(target);
  const logColumns = logColumnsOf(target.dataset);
  const { keys, map } = logColumns;
  const attributes = [...keys, ...(map === undefined ? [] : [map])].map((key) => `"${key}"`);
  const columns = ["time_ns", "level", "message", ...attributes].join(", ");
  return {
    async ask(question) {
      const sql =
        target.dataset.signal === "logs" ? toLogSql(question, columns) : toSignalSql(question, keys);
      const result = await connection.runAndReadAll(sql);
      return { answer: () => toSqlAnswer(question, result.getRows(), logColumns) };
    },
    async close() {
      close();
    },
  };
}

function toLogSql(question: BenchQuestion, columns: string): string {
  const { kind, endMs } = question;
  const text = quoteSql(question.text);
  const bucketNs = `${bucketSecondsOf(kind)}000000000`;
  // Finding the row numbers first and then those rows takes half the time of asking for all columns at once.
  const newest = (where: string): string =>
    `SELECT ${columns} FROM logs WHERE rowid IN (
      SELECT rowid FROM logs WHERE ${where} ORDER BY time_ns DESC LIMIT ${newestRows}
    ) ORDER BY time_ns DESC`;
  const count = (where: string): string => `SELECT count(*) FROM logs WHERE ${where}`;
  switch (kind) {
    case "regex":
    case "variableRegex":
      // Testing for the literal text that every match begins with first is much faster.
      return count(`contains(message, ${quoteSql(question.literal!)}) AND regexp_matches(message, ${text})`);
    case "ignoreCase":
      return count(`regexp_matches(message, ${text}, 'i')`);
    case "newestWord":
      return newest(`contains(message, ${text})`);
    case "newestService":
      return newest(`"service.name" = ${text}`);
    case "newest":
      return newest(`time_ns < ${endMs + 1}000000`);
    case "trace":
      return `SELECT ${columns} FROM logs WHERE trace_id = ${text} ORDER BY time_ns DESC`;
    case "byService":
      return `SELECT "service.name", count(*) FROM logs GROUP BY 1`;
    case "byMinuteLevel":
      return makeMinuteSql("");
    case "serviceByMinuteLevel":
      return makeMinuteSql(`WHERE "service.name" = ${text}`);
    case "topValues":
    case "topOfMany":
      return `SELECT "${question.attribute}", count(*) AS rows FROM logs GROUP BY 1 ORDER BY rows DESC LIMIT ${topValues}`;
    case "serviceWindow":
      return `WITH counts AS (SELECT "service.name" AS s, time_ns // ${bucketNs} AS b, count(*) AS n FROM logs GROUP BY ALL)
        SELECT s, b + o.o, sum(n) FROM counts, range(${windowBuckets}) AS o(o)
        WHERE b + o.o <= ${endMs}000000 // ${bucketNs} GROUP BY ALL`;
    case "errorShare":
      return `SELECT s, b, sum(n) FILTER (lower(level) IN (${errorLevels.map(quoteSql).join(", ")})) / sum(n) AS share FROM (
          SELECT "service.name" AS s, level, time_ns // ${bucketNs} AS b, count(*) AS n FROM logs GROUP BY ALL
        ) GROUP BY ALL HAVING share > 0`;
    case "sequence": {
      const [first, second] = [question.text, question.second!].map(
        (word) => `contains(message, ${quoteSql(word)})`,
      );
      return `SELECT count(*) FROM (
          SELECT t, b, max(CASE WHEN a THEN t END) OVER before AS last FROM (
            SELECT "service.name" AS s, time_ns AS t, rowid AS r, ${first} AS a, ${second} AS b
            FROM logs WHERE ${first} OR ${second}
          ) WINDOW before AS (PARTITION BY s ORDER BY t, r ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ) WHERE b AND t - last <= ${sequenceSeconds}000000000`;
    }
    default:
      return count(`contains(message, ${text})`);
  }
}

/** Levels are lower-cased once a group, not once a row. */
function makeMinuteSql(where: string): string {
  return `SELECT lower(level) AS l, minute, sum(rows) FROM (
      SELECT level, time_ns // 60000000000 AS minute, count(*) AS rows FROM logs ${where} GROUP BY ALL
    ) GROUP BY ALL`;
}
