import { mkdir, rm } from "node:fs/promises";
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
import {
  sampleInserts,
  sampleTables,
  signalQuestionSql,
  spanInserts,
  spanTables,
} from "./clickhouse-signals.ts";
import { attributeKeys, type SqlRow, sqlAnswer, sqlText } from "./sql.ts";

/** The part of `chdb` that is used. */
interface Chdb {
  Session: new (dir: string) => Session;
}

interface Session {
  query(sql: string, format?: string): string;
  queryAsync(sql: string, options: { format: string }): Promise<{ text(): string }>;
  close(): void;
}

const answerFormat = "JSONCompactEachRow";
/** Up to so many values an attribute is a dictionary. */
const lowCardinalityMax = 10_000;
const progressEveryMs = 200;
const ownParts = "active AND database = currentDatabase()";

export async function kinds(): Promise<readonly QuestionKind[]> {
  return questionKinds;
}

async function connect({ dir, threads }: Place): Promise<Session> {
  const { Session } = await peerPackage<Chdb>("chdb");
  const session = new Session(dir);
  session.query(
    `SET max_threads = ${threads}, max_insert_threads = ${threads}, use_query_condition_cache = 0, use_query_cache = 0,
      output_format_json_quote_64bit_integers = 1`,
  );
  return session;
}

export async function load(
  place: Place,
  show: (progress: StepProgress) => void,
): Promise<Omit<LoadFigure, "rows" | "inputBytes">> {
  const { dir, dataset } = place;
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const session = await connect(place);
  const run = (sql: string): Promise<unknown> => session.queryAsync(sql, { format: "Null" });
  const { tables, inserts } = statementsOf(dataset);
  for (const table of tables) session.query(table);
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
    for (const name of namesOf(session)) await run(`OPTIMIZE TABLE ${name} FINAL`);
    const settleSeconds = (performance.now() - loadedMs) / 1000;
    await run("SYSTEM STOP MERGES");
    const indexBytes = Number(
      session.query(`SELECT sum(secondary_indices_compressed_bytes) FROM system.parts WHERE ${ownParts}`),
    );
    const memoryBytesPeak = process.resourceUsage().maxRSS * 1024;
    const diskBytes = await activeBytes(session, dir);
    return {
      loadSeconds: (loadedMs - begunMs) / 1000,
      cpuSeconds: (user + system) / 1e6,
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

function namesOf(session: Session): string[] {
  return session.query("SHOW TABLES", "TSV").trim().split("\n");
}

/** Allocated blocks of the tables' merged parts: parts that were merged away lie about for some minutes, and the system's own logs are not counted. */
async function activeBytes(session: Session, dir: string): Promise<number> {
  const paths = session.query(`SELECT path FROM system.parts WHERE ${ownParts}`, "TSV").trim().split("\n");
  const sizes = await Promise.all(
    paths.map((path) => allocatedBytes(path.startsWith("/") ? path : `${dir}/${path}`)),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

function statementsOf(dataset: Dataset): { tables: string[]; inserts: string[] } {
  const { attributes, file, signal } = dataset;
  const columnSql = (key: string): string =>
    attributes[key]! < lowCardinalityMax
      ? `\`${key}\` LowCardinality(String) CODEC(ZSTD(1))`
      : `\`${key}\` String CODEC(ZSTD(1))`;
  const keys = attributeKeys(attributes);
  switch (signal) {
    case "logs":
      return { tables: [tableSql(keys.map(columnSql))], inserts: [insertSql(file, keys)] };
    case "spans":
      return { tables: spanTables(dataset, columnSql), inserts: spanInserts(dataset) };
    case "metrics":
      return { tables: sampleTables(dataset, columnSql), inserts: sampleInserts(dataset) };
  }
}

/** Sorted by time; a text index for tokens of messages and a Bloom filter for trace ids. Parts are synced to the disk as they are written. */
function tableSql(columns: readonly string[]): string {
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

function insertSql(file: string, keys: readonly string[]): string {
  const structure =
    "timeUnixNano String, log_level String, message String, attributes Map(LowCardinality(String), String)";
  const fields = keys.map((key) => `attributes[${sqlText(key)}]`).join(", ");
  return `INSERT INTO logs SELECT toInt64(timeUnixNano), log_level, message, ${fields}
    FROM file(${sqlText(file)}, 'JSONEachRow', ${sqlText(structure)})`;
}

export async function open(place: Place): Promise<System> {
  const session = await connect(place);
  const keys = attributeKeys(place.dataset.attributes);
  const columns = ["time_ns", "level", "message", ...keys.map((key) => `\`${key}\``)].join(", ");
  return {
    async ask(question) {
      const sql =
        place.dataset.signal === "logs" ? questionSql(question, columns) : signalQuestionSql(question, keys);
      const result = await session.queryAsync(sql, { format: answerFormat });
      return { answer: () => sqlAnswer(question, rowsOf(result.text()), keys) };
    },
    async close() {
      session.close();
    },
  };
}

function rowsOf(text: string): SqlRow[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function questionSql(question: Question, columns: string): string {
  const { kind, endMs } = question;
  const text = sqlString(question.text);
  const newest = (where: string): string =>
    `SELECT ${columns} FROM logs WHERE ${where} ORDER BY time_ns DESC LIMIT ${newestRows}`;
  const count = (where: string): string => `SELECT count() FROM logs WHERE ${where}`;
  switch (kind) {
    case "absent":
    case "rare":
    case "number":
      // The needle stands as a whole token wherever it stands.
      return count(`hasToken(message, ${text})`);
    case "regex":
      return count(`position(message, ${sqlString(question.literal!)}) > 0 AND match(message, ${text})`);
    case "ignoreCase":
      return count(`positionCaseInsensitive(message, ${text}) > 0`);
    case "newestWord":
      // Not LIKE: that would ask the index for all rows first, where reading from the newest on finds enough at once.
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
      return minuteSql("");
    case "serviceByMinuteLevel":
      return minuteSql(`WHERE \`service.name\` = ${text}`);
    case "topValues":
      return `SELECT \`${topAttribute}\`, count() AS rows FROM logs GROUP BY 1 ORDER BY rows DESC LIMIT ${topValues}`;
    default:
      // LIKE uses the index for those tokens of the needle that are whole.
      return count(`message LIKE ${sqlString(`%${likeText(question.text)}%`)}`);
  }
}

function minuteSql(where: string): string {
  return `SELECT lower(level) AS l, intDiv(time_ns, 60000000000) AS minute, count() FROM logs ${where} GROUP BY l, minute`;
}

/** ClickHouse reads a backslash in a string as an escape. */
function sqlString(text: string): string {
  return sqlText(text.replaceAll("\\", "\\\\"));
}

function likeText(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
