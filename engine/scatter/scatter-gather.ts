/** Queries over the scan threads: who reads what, and how the parts become one answer. */

import type { ChunkRef, DamagedChunk, SealedChunkRef } from "../chunk/chunk-ref.ts";
import { chunkVersion } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import { isVectorised } from "../filter/selection.ts";
import {
  callerChunksMax,
  callerRowsMax,
  deadlineGraceMs,
  defaultDeadlineMs,
  defaultQueryMemoryBytes,
} from "../limits.ts";
import type { Signal } from "../model/signal.ts";
import type { Catalog } from "../partition/catalog.ts";
import type { QueryControl } from "../plan/query-control.ts";
import { addScanned, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import type { ArrivedTask } from "../scan/arrival-scan.ts";
import type { Settling } from "../summary/metadata-answers.ts";
import type { ListedTemplates, TemplatesTask } from "../summary/template-listing.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import type { RowTask, ScanExecutor, ScanThreadTask } from "../worker/scan-executor.ts";

export interface QueryLimits {
  /** From now; 30 s by default. */
  deadlineMs?: number;
  /** For each scan thread; 1 GiB by default. */
  memoryBytes?: number;
  /** For each scan thread; no cap by default. */
  scannedRows?: number;
  abort?: AbortSignal;
}

/** A thread that scans chunks and keeps their columns. */
type ScanThread = WorkerThread<ScanThreadTask>;

export interface ScatterContext {
  catalog: Catalog;
  threads: readonly ScanThread[];
  /** Scans on the calling thread. */
  queryThread: ScanExecutor;
  quarantine: (chunk: DamagedChunk) => void;
  /** Sees to work that nobody waits for. */
  runInBackground: (work: Promise<void>) => void;
}

/** A query that is under way: what its tasks carry, and its end. */
export interface RunningQuery {
  control: QueryControl;
  end: () => void;
}

export function startControl(limits: QueryLimits): RunningQuery {
  const cancel = new Int32Array(new SharedArrayBuffer(4));
  const onAbort = () => void Atomics.store(cancel, 0, 1);
  if (limits.abort?.aborted === true) onAbort();
  limits.abort?.addEventListener("abort", onAbort, { once: true });
  return {
    control: {
      cancel,
      deadlineAtMs: Date.now() + (limits.deadlineMs ?? defaultDeadlineMs),
      memoryBytesMax: limits.memoryBytes ?? defaultQueryMemoryBytes,
      scannedRowsMax: limits.scannedRows ?? Number.MAX_SAFE_INTEGER,
    },
    end: () => limits.abort?.removeEventListener("abort", onAbort),
  };
}

/** The part of each thread's answer that tells what could not be read. */
interface ThreadAnswer {
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** Half-open, nanoseconds since the epoch. */
interface SignalRange {
  signal: Signal;
  fromNs: bigint;
  toNs: bigint;
}

/**
 * The answers of the threads, each to the task for its chunks; `taskOf` makes the one for all. Rounds until no chunk turns out damaged: each such chunk is set aside
 * and the rest is asked again.
 */
export async function scatterGather<Answer extends ThreadAnswer>(
  dispatch: ScatterContext,
  range: SignalRange,
  control: QueryControl,
  taskOf: (chunks: ChunkRef[]) => RowTask,
  askLeft: AskLeft<Answer> = (whole) => askScanThreads(dispatch.threads, whole, control),
): Promise<Answer[]> {
  return retryWithoutDamaged(dispatch, () => askOnce(dispatch, range, taskOf, askLeft));
}

/** Asks the threads about what the calling thread left; `settling` tells what it knows, where it had a look. */
export type AskLeft<Answer> = (whole: RowTask, settling?: Settling) => Promise<Answer[]>;

/** Asks until no chunk turns out damaged: those that do are set aside. */
export async function retryWithoutDamaged<Answer extends ThreadAnswer>(
  { quarantine }: ScatterContext,
  ask: () => Promise<Answer[]>,
): Promise<Answer[]> {
  for (;;) {
    const answers = await ask();
    const damaged = answers.flatMap((answer) => answer.damaged);
    if (damaged.length === 0) return answers;
    for (const chunk of damaged) quarantine(chunk);
  }
}

async function askOnce<Answer>(
  dispatch: ScatterContext,
  { signal, fromNs, toNs }: SignalRange,
  taskOf: (chunks: ChunkRef[]) => RowTask,
  askLeft: AskLeft<Answer>,
): Promise<Answer[]> {
  const { catalog, queryThread } = dispatch;
  const whole = taskOf(catalog.chunksIn(signal, fromNs, toNs));
  if (whole.chunks.length === 0) return [];
  if (isSmall(whole)) return [(await queryThread.run(whole)) as Answer];
  if (!maySettle(whole)) return askLeft(whole);
  const { answer, settling } = await queryThread.settle(whole);
  const answers = await askLeft({ ...whole, chunks: settling.left }, settling);
  // A search may have read only the newest of them.
  if (settling.unknown.size > 0 && whole.kind === "aggregate")
    dispatch.runInBackground(learnTemplates(dispatch, [...settling.unknown]));
  return [answer as Answer, ...answers];
}

/** The threads list the templates of chunks; after the query, since they keep the columns that it has read. */
function learnTemplates(
  { catalog, queryThread, threads }: ScatterContext,
  refs: readonly SealedChunkRef[],
): Promise<void> {
  return queryThread.learn(refs, {
    list: async (chunks) => {
      const { control } = startControl({});
      const task = { kind: "templates", chunks, control } as const;
      return (await askScanThreads<ListedTemplates[]>(threads, task, control)).flat();
    },
    chunksIn: (dir) => {
      const partition = catalog.partitions().find((each) => each.dir === dir);
      return new Set(partition?.manifest.chunks.map(chunkVersion));
    },
  });
}

/** Each thread is asked about its chunks of a task; where one fails, the others are cancelled. */
export async function askScanThreads<Answer>(
  shards: readonly ScanThread[],
  whole: RowTask | ArrivedTask | TemplatesTask,
  control: QueryControl,
): Promise<Answer[]> {
  const lists: ChunkRef[][] = shards.map(() => []);
  for (const ref of whole.chunks) lists[threadOfChunk(ref, shards.length)]!.push(ref);
  const tasks = lists.flatMap((chunks, i) => {
    return chunks.length === 0 ? [] : [runWithin<Answer>(shards[i]!, { ...whole, chunks }, control)];
  });
  try {
    return await Promise.all(tasks);
  } catch (error) {
    // The other parts have nobody to answer to.
    Atomics.store(control.cancel, 0, 1);
    await Promise.allSettled(tasks);
    throw error;
  }
}

/** Few rows, all in memory, and nothing that takes long on one of them. */
function isSmall({ chunks, steps }: RowTask): boolean {
  let rows = 0;
  for (const ref of chunks) {
    if (ref.kind === "sealed") return false;
    rows += ref.rows;
  }
  if (rows > callerRowsMax) return false;
  return steps.every((step) => step.kind === "filter" && isVectorised(step.filter));
}

/** What tells without a column is worth a look on the calling thread: to wake another takes longer. */
function maySettle({ kind, chunks, steps }: RowTask): boolean {
  return chunks.length <= callerChunksMax && (kind !== "search" || steps.length > 0);
}

/** A chunk always goes to the same thread, which keeps its columns. */
export function threadOfChunk(ref: ChunkRef, shards: number): number {
  return (ref.kind === "sealed" ? ref.day + ref.entry.id : ref.id) % shards;
}

/** Runs a task; a thread that does not answer though its deadline is past is replaced. */
export async function runWithin<T>(
  shard: ScanThread,
  task: ScanThreadTask,
  control: QueryControl,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<never>((_, reject) => {
    const wait = control.deadlineAtMs - Date.now() + deadlineGraceMs;
    timer = setTimeout(() => {
      reject(new Failure("deadline", "the query did not stop at its deadline and was ended"));
      void shard.replace();
    }, wait);
    timer.unref();
  });
  const answer = shard.run<T>(task);
  try {
    return await Promise.race([answer, hung]);
  } finally {
    clearTimeout(timer);
    // Where the thread was replaced, its answer is a rejection that nobody waits for.
    answer.catch(() => undefined);
  }
}

/** What all threads scanned together. */
export function sumScanStatistics(answers: readonly ThreadAnswer[]): Scanned {
  const scanned: Scanned = nothingScanned();
  for (const answer of answers) addScanned(scanned, answer.scanned);
  return scanned;
}
