import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Dataset } from "../dataset.ts";
import { allocatedBytes } from "../disk.ts";
import { peerPackage } from "../peers.ts";
import type { StepProgress } from "../progress.ts";
import {
  newestRows,
  type Question,
  type QuestionKind,
  questionKinds,
  topAttribute,
  topValues,
} from "../question.ts";
import type { LoadFigure, Place, System } from "../system.ts";
import { sampleStatements, signalQuestionSql, spanStatements } from "./duckdb-signals.ts";
import { attributeKeys, type SqlRow, sqlAnswer, sqlText } from "./sql.ts";

/** The part of `@duckdb/node-api` that is used. */
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

export async function kinds(): Promise<readonly QuestionKind[]> {
  return questionKinds;
}

async function connect({ dir, threads }: Place): Promise<{ connection: Connection; close: () => void }> {
  const { DuckDBInstance } = await peerPackage<DuckDb>("@duckdb/node-api");
  const instance = await DuckDBInstance.create(join(dir, "logs.duckdb"), { threads: String(threads) });
  const connection = await instance.connect();
  const close = (): void => {
    connection.closeSync();
    instance.closeSync();
  };
  return { connection, close };
}

export async function load(
  place: Place,
  show: (progress: StepProgress) => void,
): Promise<Omit<LoadFigure, "rows" | "inputBytes">> {
  const { dir, dataset } = place;
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const { connection, close } = await connect(place);
  await connection.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
  const timer = setInterval(() => {
    const done = Math.floor((Math.max(connection.progress.percentage, 0) / 100) * dataset.rows);
    show({ step: `load ${dataset.name} into DuckDB`, done, total: dataset.rows, unit: "rows" });
  }, progressEveryMs);
  try {
    const begunMs = performance.now();
    for (const statement of statementsOf(dataset)) await connection.run(statement);
    const loadedMs = performance.now();
    await connection.run("CHECKPOINT");
    const settleSeconds = (performance.now() - loadedMs) / 1000;
    const diskBytes = await allocatedBytes(dir);
    const memoryBytesPeak = process.resourceUsage().maxRSS * 1024;
    const loadSeconds = (loadedMs - begunMs) / 1000;
    return { loadSeconds, settleSeconds, diskBytes, indexBytes: 0, memoryBytesPeak };
  } finally {
    clearInterval(timer);
    close();
  }
}

function statementsOf(dataset: Dataset): string[] {
  switch (dataset.signal) {
    case "logs":
      return logStatements(dataset);
    case "spans":
      return spanStatements(dataset);
    case "metrics":
      return sampleStatements(dataset);
  }
}

/** One transaction: the commit makes all rows durable. Rows come nearly in the order of time, so zone maps prune by it. */
function logStatements({ file, attributes: values }: Dataset): string[] {
  const keys = attributeKeys(values);
  const attributes = keys.map((key) => `"${key}" VARCHAR`).join(", ");
  const types = `{timeUnixNano: 'VARCHAR', log_level: 'VARCHAR', message: 'VARCHAR', attributes: 'STRUCT(${attributes})'}`;
  const fields = keys.map((key) => `attributes."${key}"`).join(", ");
  return [
    `CREATE TABLE logs (time_ns BIGINT, level VARCHAR, message VARCHAR, ${attributes})`,
    `INSERT INTO logs SELECT timeUnixNano::BIGINT, log_level, message, ${fields}
      FROM read_json(${sqlText(file)}, format = 'newline_delimited', columns = ${types})`,
  ];
}

export async function open(place: Place): Promise<System> {
  const { connection, close } = await connect(place);
  const keys = attributeKeys(place.dataset.attributes);
  const columns = ["time_ns", "level", "message", ...keys.map((key) => `"${key}"`)].join(", ");
  return {
    async ask(question) {
      const sql =
        place.dataset.signal === "logs" ? questionSql(question, columns) : signalQuestionSql(question, keys);
      const result = await connection.runAndReadAll(sql);
      return { answer: () => sqlAnswer(question, result.getRows(), keys) };
    },
    async close() {
      close();
    },
  };
}

function questionSql(question: Question, columns: string): string {
  const { kind, endMs } = question;
  const text = sqlText(question.text);
  // The row numbers first, then those rows alone: half the time of asking for all columns at once.
  const newest = (where: string): string =>
    `SELECT ${columns} FROM logs WHERE rowid IN (
      SELECT rowid FROM logs WHERE ${where} ORDER BY time_ns DESC LIMIT ${newestRows}
    ) ORDER BY time_ns DESC`;
  const count = (where: string): string => `SELECT count(*) FROM logs WHERE ${where}`;
  switch (kind) {
    case "regex":
      // The plain text that every match begins with is looked for first: it is much faster.
      return count(`contains(message, ${sqlText(question.literal!)}) AND regexp_matches(message, ${text})`);
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
      return minuteSql("");
    case "serviceByMinuteLevel":
      return minuteSql(`WHERE "service.name" = ${text}`);
    case "topValues":
      return `SELECT "${topAttribute}", count(*) AS rows FROM logs GROUP BY 1 ORDER BY rows DESC LIMIT ${topValues}`;
    default:
      return count(`contains(message, ${text})`);
  }
}

/** Levels are put into lower case by group, not by row. */
function minuteSql(where: string): string {
  return `SELECT lower(level) AS l, minute, sum(rows) FROM (
      SELECT level, time_ns // 60000000000 AS minute, count(*) AS rows FROM logs ${where} GROUP BY ALL
    ) GROUP BY ALL`;
}
