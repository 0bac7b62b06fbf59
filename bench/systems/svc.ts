/** svc, opened as a library through the public faces of the engine and the query layer. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import type { Store } from "../../engine/index.ts";
import type { Series } from "../../query/index.ts";
import {
  type BenchQuestion,
  bucketSecondsOf,
  newestRows,
  type QuestionKind,
  questionKinds,
  topValues,
  traceRowsMax,
} from "../datasets/question.ts";
import { measureAllocatedBytes } from "../measure/disk.ts";
import { costBetween, readOwnCost, watchMemoryBytesPeak } from "../measure/process.ts";
import { importLayers, prepareProgram, type Query } from "../server/program.ts";
import { startServer } from "../server/server-process.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import {
  type AnswerGroup,
  type CanonicalAnswer,
  toCountAnswer,
  toGroupAnswer,
  toRowAnswer,
  toTopAnswer,
  toValueAnswer,
} from "./answer.ts";
import { toSvcql } from "./svcql.ts";
import type { StoreTarget, System, SystemLoad, SystemResult } from "./system.ts";

/** The store counts as idle when its statistics have not changed for so long. */
const idleMs = 1000;
const pollMs = 100;

const rowKinds: readonly QuestionKind[] = ["newestWord", "newestService", "newest", "trace"];

/** Revisions without `queryTimeseries` answer only questions for rows. */
export async function listKinds({ root }: StoreTarget): Promise<readonly QuestionKind[]> {
  const { query } = await importLayers(root);
  return "queryTimeseries" in query ? questionKinds : rowKinds;
}

/**
 * Loads the file directly into the store's folder, as the peers load, and once more over HTTP into a folder that is
 * removed again. Acknowledged rows are durable and visible to queries.
 */
export async function load(target: StoreTarget, show: ShowProgress): Promise<SystemLoad> {
  const { dir, dataset, root, threads } = target;
  const httpDir = `${dir}-http`;
  for (const each of [dir, httpDir]) await rm(each, { recursive: true, force: true });
  // Revisions without `svc ingest --direct` are loaded over HTTP alone.
  const isDirect = await hasDirectIngest(root);
  const httpLoad = await loadOverHttp({ ...target, dir: isDirect ? httpDir : dir }, show);
  await rm(httpDir, { recursive: true, force: true });
  const costBefore = isDirect ? await readOwnCost() : null;
  const loaded = isDirect
    ? await runIngest({ dataset, root, to: ["--direct", "--data", dir], step: "directly" }, show)
    : httpLoad;
  const { engine } = await importLayers(root);
  const begunSettlingMs = performance.now();
  const store = await engine.openStore({ dir, threads });
  try {
    await store.seal();
    await waitUntilIdle(store);
    const { rows } = store.stats();
    if (rows !== dataset.rows) throw new Error(`svc holds ${rows} rows of ${dataset.rows}`);
  } finally {
    await store.close();
  }
  const settleSeconds = (performance.now() - begunSettlingMs - idleMs) / 1000;
  return {
    ...loaded,
    ...costBetween(costBefore, await readOwnCost()),
    httpSeconds: httpLoad.loadSeconds,
    settleSeconds,
    diskBytes: await measureAllocatedBytes(dir),
    indexBytes: 0,
  };
}

type TimedLoad = Pick<SystemLoad, "loadSeconds" | "memoryBytesPeak">;

/** Loads with `svc ingest` into a server. */
async function loadOverHttp({ dir, dataset, root }: StoreTarget, show: ShowProgress): Promise<TimedLoad> {
  const server = await startServer(dir, root);
  try {
    const to = ["--url", server.url, "--token", server.token];
    const { loadSeconds } = await runIngest({ dataset, root, to, step: "over HTTP" }, show);
    return { loadSeconds, memoryBytesPeak: (await server.readMemoryBytesPeak()) ?? 0 };
  } finally {
    await server.stop();
  }
}

async function hasDirectIngest(root: string): Promise<boolean> {
  const words = [await prepareProgram(root), "ingest", "--help"];
  const { stdout } = await promisify(execFile)(process.execPath, words).catch(() => ({ stdout: "" }));
  return stdout.includes("--direct ");
}

/** Where `svc ingest` loads to, as it is told to, and as progress names it. */
interface IngestTarget extends Pick<StoreTarget, "dataset" | "root"> {
  to: readonly string[];
  step: string;
}

/** Runs `svc ingest`. The time that it reports counts, without the start of its process, as for the peers. */
async function runIngest({ dataset, root, to, step }: IngestTarget, show: ShowProgress): Promise<TimedLoad> {
  const { file, signal, name, rows } = dataset;
  const words = ["ingest", ...to, "--signal", signal, file];
  const child = spawn(process.execPath, [await prepareProgram(root), ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const endWatch = watchMemoryBytesPeak(child.pid!);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    const percent = Number(/(\d+) %/.exec(text)?.[1] ?? Number.NaN);
    if (percent > 0)
      show({
        step: `load ${name} into svc ${step}`,
        done: (rows * percent) / 100,
        total: rows,
        unit: "rows",
      });
    else output += text;
  });
  const [code] = await once(child, "close");
  const memoryBytesPeak = endWatch();
  const seconds = Number(/ in ([\d.]+) s \(/.exec(output)?.[1] ?? Number.NaN);
  if (code !== 0 || Number.isNaN(seconds)) throw new Error(`svc ingest ended with ${code}: ${output.trim()}`);
  return { loadSeconds: seconds, memoryBytesPeak };
}

/** Waits until the background merge of small chunks has ended. */
export async function waitUntilIdle(store: Store): Promise<void> {
  let before = "";
  let changedMs = performance.now();
  while (performance.now() - changedMs < idleMs) {
    const now = JSON.stringify(store.stats());
    if (now !== before) changedMs = performance.now();
    before = now;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Opens the store and warms it up, as a server does when it starts. */
export async function open({ dir, root, threads }: StoreTarget): Promise<System> {
  const { engine, query } = await importLayers(root);
  const store = await engine.openStore({ dir, threads });
  // Older revisions have no warm-up.
  await query.warmUp?.(store);
  return { ask: (question) => ask(store, query, question), close: () => store.close() };
}

function ask(store: Store, query: Query, question: BenchQuestion): Promise<SystemResult> {
  return rowKinds.includes(question.kind)
    ? askRows(store, query, question)
    : askCounts(store, query, question);
}

async function askRows(store: Store, query: Query, question: BenchQuestion): Promise<SystemResult> {
  const { startMs, endMs, kind } = question;
  const limit = kind === "trace" ? traceRowsMax : newestRows;
  const { rows, scanned } = await query.searchLogs(store, {
    query: toSvcql(question),
    startMs,
    endMs,
    limit,
  });
  return {
    bytesRead: scanned.bytes,
    answer: () =>
      toRowAnswer(
        rows.map((row) => ({ ...row, attributes: Object.entries(row.attributes) })),
        limit,
      ),
  };
}

async function askCounts(store: Store, query: Query, question: BenchQuestion): Promise<SystemResult> {
  const { startMs, endMs, kind } = question;
  const request = { query: toSvcql(question), startMs, endMs, bucketSeconds: bucketSecondsOf(kind) };
  const result = await query.queryTimeseries(store, request);
  return {
    bytesRead: result.scanned.bytes,
    // Converting series from columns to objects is not timed, as for the peers.
    answer: () => toSeriesAnswer(kind, result.series),
  };
}

/** These series have at most one label; it is absent where the rows lack it. */
function toSeriesAnswer(kind: QuestionKind, series: readonly Series[]): CanonicalAnswer {
  const groups = series.flatMap(({ labels, points }) => {
    const label = Object.values(labels)[0] ?? "";
    return points.map(([ms, rows]) => [[label], ms, rows] as const);
  });
  switch (kind) {
    case "serviceWindow":
    case "errorShare":
    case "spanDurations":
    case "spansByMinute":
    case "tracesByHour":
    case "gaugeAverage":
    case "serviceIncrease":
      return toValueAnswer(groups);
    case "seriesIncrease":
      return toValueAnswer(toSeriesGroups(series));
    case "byMinuteLevel":
    case "serviceByMinuteLevel":
      return toGroupAnswer(groups);
    case "byService":
      return toGroupAnswer(groups.map(([labels, , rows]) => [labels, 0, rows]));
    case "spanNames":
    case "topValues":
    case "topOfMany":
      return toTopAnswer(
        groups.map(([labels, , rows]) => [labels, 0, rows]),
        topValues,
      );
    default:
      return toCountAnswer(groups.reduce((sum, [, , rows]) => sum + rows, 0));
  }
}

/** Groups with all labels of a series, in the order of their names. */
function toSeriesGroups(series: readonly Series[]): AnswerGroup[] {
  return series.flatMap(({ labels, points }) => {
    const named = Object.keys(labels)
      .sort()
      .map((key) => `${key}=${labels[key]}`);
    return points.map(([ms, value]): AnswerGroup => [named, ms, value]);
  });
}
