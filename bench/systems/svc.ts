/** svc itself, as a program that opens it as a library sees it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Store } from "../../engine/index.ts";
import type { Series } from "../../query/index.ts";
import {
  type Answer,
  countAnswer,
  type Group,
  groupAnswer,
  rowAnswer,
  topAnswer,
  valueAnswer,
} from "../answer.ts";
import { allocatedBytes } from "../disk.ts";
import { memoryBytesPeak, sendFile, startServer } from "../http.ts";
import type { StepProgress } from "../progress.ts";
import {
  bucketSecondsOf,
  newestRows,
  type Question,
  type QuestionKind,
  questionKinds,
  topValues,
  traceRowsMax,
} from "../question.ts";
import { queryText } from "../svcql.ts";
import type { LoadFigure, Place, Result, System } from "../system.ts";

type Engine = typeof import("../../engine/index.ts");
type Query = typeof import("../../query/index.ts");

/** Rows in a request of the load. */
const loadBatchRows = 10_000;
/** The store is settled when nothing has changed for so long. */
const quietMs = 1000;
const askedEveryMs = 100;

async function libraryAt(root: string): Promise<{ engine: Engine; query: Query }> {
  const load = (layer: string): Promise<unknown> => import(pathToFileURL(join(root, layer, "index.ts")).href);
  return { engine: (await load("engine")) as Engine, query: (await load("query")) as Query };
}

const searchKinds: readonly QuestionKind[] = ["newestWord", "newestService", "newest", "trace"];

/** Revisions from before the counts over time can be asked for rows alone. */
export async function kinds({ root }: Place): Promise<readonly QuestionKind[]> {
  const { query } = await libraryAt(root);
  return "queryTimeseries" in query ? questionKinds : searchKinds;
}

type Show = (progress: StepProgress) => void;

/**
 * From the file into the store's own folder, as the peers load; and over HTTP, as rows come in. What is acknowledged is durable and
 * found by queries.
 */
export async function load(place: Place, show: Show): Promise<Omit<LoadFigure, "rows" | "inputBytes">> {
  const { dir, dataset, root, threads } = place;
  const httpDir = `${dir}-http`;
  for (const each of [dir, httpDir]) await rm(each, { recursive: true, force: true });
  // Revisions from before there was another way have this one alone.
  const isDirect = ["server/ingest/direct-load.ts", "server/direct-load.ts"].some((file) =>
    existsSync(join(root, file)),
  );
  const sent = await sendRows({ ...place, dir: isDirect ? httpDir : dir }, show);
  await rm(httpDir, { recursive: true, force: true });
  const loaded = isDirect ? await ingestFile(place, show) : sent;
  const { engine } = await libraryAt(root);
  const settleMs = performance.now();
  const store = await engine.openStore({ dir, threads });
  try {
    await store.seal();
    await settled(store);
    const { rows } = store.stats();
    if (rows !== dataset.rows) throw new Error(`svc holds ${rows} rows of ${dataset.rows}`);
  } finally {
    await store.close();
  }
  const settleSeconds = (performance.now() - settleMs - quietMs) / 1000;
  return {
    ...loaded,
    httpSeconds: sent.loadSeconds,
    settleSeconds,
    diskBytes: await allocatedBytes(dir),
    indexBytes: 0,
  };
}

type Sent = Pick<LoadFigure, "loadSeconds" | "memoryBytesPeak">;

async function sendRows({ dir, dataset, root }: Place, show: Show): Promise<Sent> {
  const server = await startServer(dir, root);
  const begunMs = performance.now();
  try {
    await sendFile(server, dataset, loadBatchRows, (done) =>
      show({ step: `load ${dataset.name} into svc over HTTP`, done, total: dataset.rows, unit: "rows" }),
    );
    const loadSeconds = (performance.now() - begunMs) / 1000;
    return { loadSeconds, memoryBytesPeak: (await server.memoryBytesPeak()) ?? 0 };
  } finally {
    await server.stop();
  }
}

/** `svc ingest --direct`; its own time counts, without its start, as of the peers. */
async function ingestFile({ dir, dataset, root }: Place, show: Show): Promise<Sent> {
  const { file, signal, name, rows } = dataset;
  const words = ["ingest", "--direct", "--data", dir, "--signal", signal, file];
  const child = spawn(process.execPath, [join(root, "server/main.ts"), ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let memoryPeak = 0;
  const timer = setInterval(async () => {
    memoryPeak = Math.max(memoryPeak, (await memoryBytesPeak(child.pid!)) ?? 0);
  }, askedEveryMs);
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    const percent = Number(/(\d+) %/.exec(text)?.[1] ?? Number.NaN);
    if (percent > 0)
      show({ step: `load ${name} into svc`, done: (rows * percent) / 100, total: rows, unit: "rows" });
    else said += text;
  });
  const [code] = await once(child, "close");
  clearInterval(timer);
  const seconds = Number(/ in ([\d.]+) s \(/.exec(said)?.[1] ?? Number.NaN);
  if (code !== 0 || Number.isNaN(seconds)) throw new Error(`svc ingest ended with ${code}: ${said.trim()}`);
  return { loadSeconds: seconds, memoryBytesPeak: memoryPeak };
}

/** Small chunks are merged in the background: waits until that has ended. */
async function settled(store: Store): Promise<void> {
  let before = "";
  let changedMs = performance.now();
  while (performance.now() - changedMs < quietMs) {
    const now = JSON.stringify(store.stats());
    if (now !== before) changedMs = performance.now();
    before = now;
    await new Promise((resolve) => setTimeout(resolve, askedEveryMs));
  }
}

export async function open({ dir, root, threads }: Place): Promise<System> {
  const { engine, query } = await libraryAt(root);
  const store = await engine.openStore({ dir, threads });
  return { ask: (question) => ask(store, query, question), close: () => store.close() };
}

function ask(store: Store, query: Query, question: Question): Promise<Result> {
  return searchKinds.includes(question.kind)
    ? askRows(store, query, question)
    : askCounts(store, query, question);
}

async function askRows(store: Store, query: Query, question: Question): Promise<Result> {
  const { startMs, endMs, kind } = question;
  const limit = kind === "trace" ? traceRowsMax : newestRows;
  const { rows, scanned } = await query.searchLogs(store, {
    query: queryText(question),
    startMs,
    endMs,
    limit,
  });
  return {
    bytesRead: scanned.bytes,
    answer: () =>
      rowAnswer(
        rows.map((row) => ({ ...row, attributes: Object.entries(row.attributes) })),
        limit,
      ),
  };
}

async function askCounts(store: Store, query: Query, question: Question): Promise<Result> {
  const { startMs, endMs, kind } = question;
  const asked = { query: queryText(question), startMs, endMs, bucketSeconds: bucketSecondsOf(kind) };
  const answered = await query.queryTimeseries(store, asked);
  return {
    bytesRead: answered.scanned.bytes,
    // Series are columns until somebody asks for objects, as the peers' results are.
    answer: () => countsAnswer(kind, answered.series),
  };
}

/** A label that the rows lack is not there; there is one label, or none. */
function countsAnswer(kind: QuestionKind, series: readonly Series[]): Answer {
  const groups = series.flatMap(({ labels, points }) => {
    const label = Object.values(labels)[0] ?? "";
    return points.map(([ms, rows]) => [[label], ms, rows] as const);
  });
  switch (kind) {
    case "spanDurations":
    case "spansByMinute":
    case "tracesByHour":
    case "gaugeAverage":
    case "serviceIncrease":
      return valueAnswer(groups);
    case "seriesIncrease":
      return valueAnswer(seriesGroups(series));
    case "byMinuteLevel":
    case "serviceByMinuteLevel":
      return groupAnswer(groups);
    case "byService":
      return groupAnswer(groups.map(([labels, , rows]) => [labels, 0, rows]));
    case "spanNames":
    case "topValues":
      return topAnswer(
        groups.map(([labels, , rows]) => [labels, 0, rows]),
        topValues,
      );
    default:
      return countAnswer(groups.reduce((sum, [, , rows]) => sum + rows, 0));
  }
}

/** With all labels, in the order of their names. */
function seriesGroups(series: readonly Series[]): Group[] {
  return series.flatMap(({ labels, points }) => {
    const named = Object.keys(labels)
      .sort()
      .map((key) => `${key}=${labels[key]}`);
    return points.map(([ms, value]): Group => [named, ms, value]);
  });
}
