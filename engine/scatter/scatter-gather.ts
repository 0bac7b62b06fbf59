/** Scatter and gather: which thread reads which chunks, and how a query is run, retried, cancelled and ended. */

import { type ChunkRef, chunkIdentity, type DamagedChunk, type SealedChunkRef } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import { isVectorised } from "../filter/selection.ts";
import {
  deadlineGraceMs,
  defaultDeadlineMs,
  defaultQueryMemoryBytes,
  queryThreadChunksMax,
  queryThreadRowsMax,
} from "../limits.ts";
import type { Signal } from "../model/signal.ts";
import type { Catalog } from "../partition/catalog.ts";
import type { Step } from "../plan/filter.ts";
import { monotonicMs, type QueryControl } from "../plan/query-control.ts";
import { addScanStatistics, emptyScanStatistics, type ScanStatistics } from "../plan/scan-statistics.ts";
import type { ArrivedTask } from "../scan/arrival-scan.ts";
import type { ListedTemplates, TemplatesTask } from "../summary/template-listing.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import type {
  MetadataAnswer,
  RowTask,
  ScanExecutor,
  ScanTask,
  ScanThreadTask,
} from "../worker/scan-executor.ts";

/** Bounds of one query. One that goes beyond them ends with Failure "deadline", "limit" or "cancelled". */
export interface QueryLimits {
  /** Counted from the call; 30 s by default. */
  deadlineMs?: number;
  /** For each scan thread; 1 GiB by default. */
  memoryBytes?: number;
  /** For each scan thread; no cap by default. */
  scannedRows?: number;
  /** Cancels the query. */
  abort?: AbortSignal;
}

/** A thread that scans chunks and keeps their columns. */
type ScanThread = WorkerThread<ScanThreadTask>;

/** What a query needs of the store. */
export interface ScatterContext {
  catalog: Catalog;
  /** The scan threads. */
  threads: readonly ScanThread[];
  /** Scans on the query thread, where the call came in. */
  queryThread: ScanExecutor;
  quarantine: (chunk: DamagedChunk) => void;
  /** Takes over work that no query waits for; its failure is logged. */
  runInBackground: (work: Promise<void>) => void;
}

/** A query that is under way. */
export interface RunningQuery {
  /** Goes with every task of the query. */
  control: QueryControl;
  /** To be called when the query has ended. */
  end: () => void;
}

/** Starts the clock of a query. */
export function startControl(limits: QueryLimits): RunningQuery {
  const cancel = new Int32Array(new SharedArrayBuffer(4));
  const onAbort = () => void Atomics.store(cancel, 0, 1);
  if (limits.abort?.aborted === true) onAbort();
  limits.abort?.addEventListener("abort", onAbort, { once: true });
  return {
    control: {
      cancel,
      deadlineAtMs: monotonicMs() + (limits.deadlineMs ?? defaultDeadlineMs),
      memoryBytesMax: limits.memoryBytes ?? defaultQueryMemoryBytes,
      scannedRowsMax: limits.scannedRows ?? Number.MAX_SAFE_INTEGER,
    },
    end: () => limits.abort?.removeEventListener("abort", onAbort),
  };
}

/** What the answers of all threads have in common. */
interface ThreadAnswer {
  scanned: ScanStatistics;
  /** Chunks that the thread could not read. */
  damaged: DamagedChunk[];
}

/** Half-open, nanoseconds since the epoch. */
interface SignalRange {
  signal: Signal;
  fromNs: bigint;
  toNs: bigint;
}

/** Asks the scan threads about the residual chunks; `metadata` is what the query thread found, where it was asked. */
export type AskResidual<Answer> = (residual: RowTask, metadata?: MetadataAnswer) => Promise<Answer[]>;

/**
 * Answers a task over the chunks of a range: from the query thread alone where the rows are few and in memory, else from metadata, and
 * from the scan threads for what is left. `taskOf` makes the task for some chunks.
 */
export async function scatterGather<Answer extends ThreadAnswer>(
  context: ScatterContext,
  range: SignalRange,
  control: QueryControl,
  taskOf: (chunks: ChunkRef[]) => RowTask,
  askResidual: AskResidual<Answer> = (residual) => askScanThreads(context.threads, residual, control),
): Promise<Answer[]> {
  return retryWithoutDamaged(context, range, async (chunks) => {
    const task = taskOf(chunks);
    if (isSmall(chunks) && task.steps.every(isCheap)) {
      return [(await context.queryThread.run(task)) as Answer];
    }
    if (!isWorthMetadata(task)) return askResidual(task);
    const metadata = await context.queryThread.answerFromMetadata(task);
    const answers = await askResidual({ ...task, chunks: [...metadata.residual] }, metadata);
    // A search may have read only the newest of the unlisted chunks, so their columns are not at hand.
    if (metadata.unlisted.size > 0 && task.kind === "aggregate")
      context.runInBackground(learnTemplates(context, [...metadata.unlisted]));
    return [metadata.answer as ThreadAnswer as Answer, ...answers];
  });
}

/** Asks about the chunks of a range until none of them turns out damaged: damaged chunks are quarantined before the next round. */
export async function retryWithoutDamaged<Answer extends Pick<ThreadAnswer, "damaged">>(
  { catalog, quarantine }: ScatterContext,
  { signal, fromNs, toNs }: SignalRange,
  ask: (chunks: ChunkRef[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  for (;;) {
    const chunks = catalog.findChunks(signal, fromNs, toNs);
    const answers = chunks.length === 0 ? [] : await ask(chunks);
    const damaged = answers.flatMap((answer) => answer.damaged);
    if (damaged.length === 0) return answers;
    for (const chunk of damaged) quarantine(chunk);
  }
}

/** Lists templates on the scan threads, after the query: they have its columns in their caches. */
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
      return new Set(partition?.manifest.chunks.map(chunkIdentity));
    },
  });
}

/** Asks each scan thread about its own chunks of a task. */
export function askScanThreads<Answer>(
  threads: readonly ScanThread[],
  task: RowTask | ArrivedTask | TemplatesTask,
  control: QueryControl,
): Promise<Answer[]> {
  const lists: ChunkRef[][] = threads.map(() => []);
  for (const ref of task.chunks) lists[threadOfChunk(ref, threads.length)]!.push(ref);
  const tasks = lists.flatMap((chunks, i) => {
    return chunks.length === 0 ? [] : [{ thread: threads[i]!, task: { ...task, chunks } }];
  });
  return runTasks(tasks, control);
}

/** Runs tasks at the same time, each on its thread; where one fails, the others are cancelled. */
export async function runTasks<Answer>(
  tasks: readonly { thread: ScanThread; task: ScanTask }[],
  control: QueryControl,
): Promise<Answer[]> {
  const answers = tasks.map(({ thread, task }) => runWithin<Answer>(thread, task, control));
  try {
    return await Promise.all(answers);
  } catch (error) {
    // Nobody will read the other answers.
    Atomics.store(control.cancel, 0, 1);
    await Promise.allSettled(answers);
    throw error;
  }
}

/** Whether chunks are few rows, all in memory: then waking another thread takes longer than the scan. */
export function isSmall(chunks: readonly ChunkRef[]): boolean {
  let rows = 0;
  for (const ref of chunks) {
    if (ref.kind === "sealed") return false;
    rows += ref.rows;
  }
  return rows <= queryThreadRowsMax;
}

/** Whether a step takes no long time on any row. */
function isCheap(step: Step): boolean {
  return step.kind === "filter" && isVectorised(step.filter);
}

/** Whether the query thread tries to answer without columns: it takes less time than waking a scan thread. */
function isWorthMetadata({ kind, chunks, steps }: RowTask): boolean {
  return chunks.length <= queryThreadChunksMax && (kind !== "search" || steps.length > 0);
}

/** The thread of a chunk is always the same, so that its columns are cached once. */
export function threadOfChunk(ref: ChunkRef, shards: number): number {
  return (ref.kind === "sealed" ? ref.day + ref.entry.id : ref.id) % shards;
}

/** Runs a task on a thread; where no answer comes in time after the deadline, the thread is ended and replaced. */
export async function runWithin<T>(
  thread: ScanThread,
  task: ScanThreadTask,
  control: QueryControl,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const wait = control.deadlineAtMs - monotonicMs() + deadlineGraceMs;
    timer = setTimeout(() => {
      reject(new Failure("deadline", "the query did not stop at its deadline and was ended"));
      void thread.replace();
    }, wait);
    timer.unref();
  });
  const answer = thread.run<T>(task);
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
    // The answer of a replaced thread is a rejection that nobody else handles.
    answer.catch(() => undefined);
  }
}

/** Adds up what all threads scanned. */
export function sumScanStatistics(answers: readonly ThreadAnswer[]): ScanStatistics {
  const scanned: ScanStatistics = emptyScanStatistics();
  for (const answer of answers) addScanStatistics(scanned, answer.scanned);
  return scanned;
}
