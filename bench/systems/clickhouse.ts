import { mkdir, rm } from "node:fs/promises";
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
import {
  makeSampleInserts,
  makeSampleTables,
  makeSpanInserts,
  makeSpanTables,
  toSignalSql,
} from "./clickhouse-signals.ts";
import { loadPeerPackage } from "./peer-packages.ts";
import {
  type FieldTree,
  type LogColumns,
  logColumnsOf,
  quoteSql,
  type SqlRow,
  toFieldTree,
  toSqlAnswer,
} from "./sql.ts";
import type { StoreTarget, System, SystemLoad } from "./system.ts";

/** The part of the `chdb` package that is used. */
interface Chdb {
  Session: new (dir: string) => Session;
}

interface Session {
  query(sql: string, format?: string): string;
  queryAsync(sql: string, options: { format: string }): Promise<{ text(): string }>;
  close(): void;
}

const answerFormat = "JSONCompactEachRow";
/** An attribute with fewer values is stored as LowCardinality. */
const lowCardinalityMax = 10_000;
const progressEveryMs = 200;
const ownParts = "active AND database = currentDatabase()";

export async function listKinds(): Promise<readonly QuestionKind[]> {
  return questionKinds;
}

async function connect({ dir, threads }: StoreTarget): Promise<Session> {
  const { Session } = await loadPeerPackage<Chdb>("chdb");
  const session = new Session(dir);
  session.query(
    `SET max_threads = ${threads}, max_insert_threads = ${threads}, use_query_condition_cache = 0, use_query_cache = 0,
      output_format_json_quote_64bit_integers = 1`,
  );
  return session;
}

export async function load(target: StoreTarget, show: ShowProgress): Promise<SystemLoad> {
  const { dir, dataset } = target;
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const session = await connect(target);
  const run = (sql: string): Promise<unknown> => session.queryAsync(sql, { format: "Null" });
  const { tables, inserts } = makeStatements(dataset);
  for (const table of tables) session.query(table);
  const costBefore = await readOwnCost();
  const begunMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const timer = setInterval(() => {
    const done = Number(session.query(`SELECT sum(rows) FROM system.parts WHERE ${ownParts}`).trim());
    show({ step: `load ${dataset.name} into ClickHouse`, done, total: dataset.rows, unit: "rows" });
  }, progressEveryMs * 5);
  try {
    for (const insert of inserts) await run(insert);
    const loadedMs = performance.now();
    const { user, system } = process.cpuUsage(cpuBefore);
    clearInterval(timer);
    for (const name of listTables(session)) await run(`OPTIMIZE TABLE ${name} FINAL`);
    const settleSeconds = (performance.now() - loadedMs) / 1000;
    const lifeCost = costBetween(costBefore, await readOwnCost());
    await run("SYSTEM STOP MERGES");
    const indexBytes = Number(
      session.query(`SELECT sum(secondary_indices_compressed_bytes) FROM system.parts WHERE ${ownParts}`),
    );
    const memoryBytesPeak = process.resourceUsage().maxRSS * 1024;
    const diskBytes = await measureActiveBytes(session, dir);
    return {
      loadSeconds: (loadedMs - begunMs) / 1000,
      cpuSeconds: (user + system) / 1e6,
      ...lifeCost,
      settleSeconds,
      diskBytes,
      indexBytes,
      memoryBytesPeak,
    };
  } finally {
    clearInterval(timer);
    session.close();
  }
}

function listTables(session: Session): string[] {
  return session.query("SHOW TABLES", "TSV").trim().split("\n");
}

/**
 * Allocated blocks of the active parts. Inactive parts stay on disk for some minutes after a merge, and ClickHouse's
 * own system tables do not count.
 */
async function measureActiveBytes(session: Session, dir: string): Promise<number> {
  const paths = session.query(`SELECT path FROM system.parts WHERE ${ownParts}`, "TSV").trim().split("\n");
  const sizes = await Promise.all(
    paths.map((path) => measureAllocatedBytes(path.startsWith("/") ? path : `${dir}/${path}`)),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

function makeStatements(dataset: BenchDataset): { tables: string[]; inserts: string[] } {
  const { attributes, file, signal } = dataset;
  const columnSql = (key: string): string =>
    attributes[key]! < lowCardinalityMax
      ? `\`${key}\` LowCardinality(String) CODEC(ZSTD(1))`
      : `\`${key}\` String CODEC(ZSTD(1))`;
  switch (signal) {
    case "logs": {
      const columns = logColumnsOf(dataset);
      const { keys, map } = columns;
      const mapSql = map === undefined ? [] : [`\`${map}\` ${mapType} CODEC(ZSTD(1))`];
      return {
        tables: [makeTableSql([...keys.map(columnSql), ...mapSql])],
        inserts: [makeInsertSql(file, columns)],
      };
    }
    case "spans":
      return { tables: makeSpanTables(dataset, columnSql), inserts: makeSpanInserts(dataset) };
    case "metrics":
      return { tables: makeSampleTables(dataset, columnSql), inserts: makeSampleInserts(dataset) };
  }
}

/**
 * Sorted by time, with a text index over message tokens and a Bloom filter over trace ids. Parts are synced as they are
 * written.
 */
function makeTableSql(columns: readonly string[]): string {
  return `CREATE TABLE logs (
      time_ns Int64 CODEC(Delta(8), ZSTD(1)),
      level LowCardinality(String) CODEC(ZSTD(1)),
      message String CODEC(ZSTD(1)),
      ${columns.join(",\n      ")},
      INDEX message_tokens message TYPE text(tokenizer = splitByNonAlpha),
      INDEX trace_ids trace_id TYPE bloom_filter(0.001) GRANULARITY 1
    ) ENGINE = MergeTree ORDER BY time_ns
    SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`;
}

const mapType = "Map(LowCardinality(String), String)";

/** Attributes that are sent flat are read as one map, nested ones as a tuple of their fields. */
function makeInsertSql(file: string, { keys, map }: LogColumns): string {
  const type = map === undefined ? mapType : toTupleType(toFieldTree(keys), map);
  const structure = `timeUnixNano String, log_level String, message String, attributes ${type}`;
  const fields =
    map === undefined
      ? keys.map((key) => `attributes[${quoteSql(key)}]`).join(", ")
      : [...keys, map].map((key) => `attributes.${key}`).join(", ");
  return `INSERT INTO logs SELECT toInt64(timeUnixNano), log_level, message, ${fields}
    FROM file(${quoteSql(file)}, 'JSONEachRow', ${quoteSql(structure)})`;
}

function toTupleType(fields: FieldTree, map?: string): string {
  const parts = [...fields].map(
    ([name, members]) => `${name} ${members === undefined ? "String" : toTupleType(members)}`,
  );
  return `Tuple(${[...parts, ...(map === undefined ? [] : [`${map} ${mapType}`])].join(", ")})`;
}

export async function open(target: StoreTarget): Promise<System> {
  const session = await connect(target);
  const logColumns = logColumnsOf(target.dataset);
  const { keys, map } = logColumns;
  const attributes = [...keys, ...(map === undefined ? [] : [map])].map((key) => `\`${key}\``);
  const columns = ["time_ns", "level", "message", ...attributes].join(", ");
  return {
    async ask(question) {
      const sql =
        target.dataset.signal === "logs" ? toLogSql(question, columns) : toSignalSql(question, keys);
      const result = await session.queryAsync(sql, { format: answerFormat });
      return { answer: () => toSqlAnswer(question, parseRows(result.text()), logColumns) };
    },
    async close() {
      session.close();
    },
  };
}

function parseRows(text: string): SqlRow[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function toLogSql(question: BenchQuestion, columns: string): string {
  const { kind, endMs } = question;
  const text = quoteEscaped(question.text);
  const bucketNs = `${bucketSecondsOf(kind)}000000000`;
  const newest = (where: string): string =>
    `SELECT ${columns} FROM logs WHERE ${where} ORDER BY time_ns DESC LIMIT ${newestRows}`;
  const count = (where: string): string => `SELECT count() FROM logs WHERE ${where}`;
  switch (kind) {
    case "absent":
    case "rare":
    case "number":
      // These needles were chosen to be whole tokens wherever they occur.
      return count(`hasToken(message, ${text})`);
    case "regex":
    case "variableRegex":
      return count(`position(message, ${quoteEscaped(question.literal!)}) > 0 AND match(message, ${text})`);
    case "ignoreCase":
      return count(`positionCaseInsensitive(message, ${text}) > 0`);
    case "newestWord":
      // LIKE would ask the index for all matching rows first; reading from the newest on finds 100 sooner.
      return newest(`position(message, ${text}) > 0`);
    case "newestService":
      return newest(`\`service.name\` = ${text}`);
    case "newest":
      return newest(`time_ns < ${endMs + 1}000000`);
    case "trace":
      return `SELECT ${columns} FROM logs WHERE trace_id = ${text} ORDER BY time_ns DESC`;
    case "byService":
      return "SELECT `service.name`, count() FROM logs GROUP BY 1";
    case "byMinuteLevel":
      return makeMinuteSql("");
    case "serviceByMinuteLevel":
      return makeMinuteSql(`WHERE \`service.name\` = ${text}`);
    case "topValues":
    case "topOfMany":
      return `SELECT \`${question.attribute}\`, count() AS rows FROM logs GROUP BY 1 ORDER BY rows DESC LIMIT ${topValues}`;
    case "serviceWindow":
      return `SELECT s, b + o AS bucket, sum(n) FROM (
          SELECT \`service.name\` AS s, intDiv(time_ns, ${bucketNs}) AS b, count() AS n FROM logs GROUP BY s, b
        ) ARRAY JOIN range(${windowBuckets}) AS o WHERE bucket <= intDiv(${endMs}000000, ${bucketNs}) GROUP BY s, bucket`;
    case "errorShare":
      return `SELECT s, b, sumIf(n, lower(level) IN (${errorLevels.map(quoteSql).join(", ")})) / sum(n) AS share FROM (
          SELECT \`service.name\` AS s, level, intDiv(time_ns, ${bucketNs}) AS b, count() AS n FROM logs GROUP BY s, level, b
        ) GROUP BY s, b HAVING share > 0`;
    case "sequence": {
      const [first, second] = [question.text, question.second!].map(
        (word) => `message LIKE ${quoteEscaped(`%${escapeLike(word)}%`)}`,
      );
      // Rows of equal time lie in a part in the order in which they were inserted.
      return `SELECT count() FROM (
          SELECT t, b, max(if(a, t, 0)) OVER (
            PARTITION BY s ORDER BY t, r ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
          ) AS last FROM (
            SELECT \`service.name\` AS s, time_ns AS t, _part_offset AS r, ${first} AS a, ${second} AS b
            FROM logs WHERE ${first} OR ${second}
          )
        ) WHERE b AND t - last <= ${sequenceSeconds}000000000`;
    }
    default:
      // LIKE uses the index for the needle's whole tokens.
      return count(`message LIKE ${quoteEscaped(`%${escapeLike(question.text)}%`)}`);
  }
}

function makeMinuteSql(where: string): string {
  return `SELECT lower(level) AS l, intDiv(time_ns, 60000000000) AS minute, count() FROM logs ${where} GROUP BY l, minute`;
}

/** In a string literal of ClickHouse a backslash begins an escape. */
function quoteEscaped(text: string): string {
  return quoteSql(text.replaceAll("\\", "\\\\"));
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
