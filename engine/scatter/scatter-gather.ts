/** Scatter and gather: which thread reads which chunks, and how a query is run, retried, cancelled and ended. */

import { countsAllByTemplate } from "../aggregate/aggregate-templates.ts";
import { type ChunkRef, chunkIdentity, type DamagedChunk } from "../chunk/chunk-ref.ts";
import type { ScanAnswer } from "../chunk/chunk-task.ts";
import { Failure } from "../failure.ts";
import { isVectorised } from "../filter/selection.ts";
import {
  deadlineGraceMs,
  defaultDeadlineMs,
  defaultQueryMemoryBytes,
  queryThreadChunksMax,
  queryThreadRowsMax,
  timerMsMax,
} from "../limits.ts";
import type { Signal } from "../model/signal.ts";
import type { Catalog } from "../partition/catalog.ts";
import type { RangeSelection, Step } from "../plan/filter.ts";
import { monotonicMs, type QueryControl } from "../plan/query-control.ts";
import { closeCharge, openCharge, type QueryMemory } from "../plan/query-memory.ts";
import {
  addConditionStatistics,
  addScanStatistics,
  emptyScanStatistics,
  type ScanStatistics,
} from "../plan/scan-statistics.ts";
import type { ArrivedTask } from "../scan/arrival-scan.ts";
import { readTemplateFile, writeTemplateFile } from "../summary/template-file.ts";
import type { ListedTemplates, TemplatesTask } from "../summary/template-listing.ts";
import type { TemplateSource } from "../summary/template-summaries.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import type {
  MetadataAnswer,
  RowTask,
  ScanExecutor,
  ScanTask,
  ScanThreadTask,
} from "../worker/scan-executor.ts";

/** Bounds of one query. A query that exceeds them ends with Failure "deadline", "limit" or "cancelled". */
export interface QueryLimits {
  /** Milliseconds from the call; 30 s by default. */
  deadlineMs?: number;
  /** For each scan thread; 1 GiB by default. */
  memoryBytes?: number;
  /** For each scan thread; no cap by default. */
  scannedRows?: number;
  /** Cancels the query. */
  abort?: AbortSignal;
  /** The query belongs to a warm-up; see `WarmUp`. */
  isWarmUp?: boolean;
}

/** A thread that scans chunks and keeps their columns. */
type ScanThread = WorkerThread<ScanThreadTask>;

/** A task that is part of a query. */
type QueryTask = Extract<ScanTask, { control: QueryControl }>;

/** What a query needs of the store. */
export interface ScatterContext {
  catalog: Catalog;
  /** The scan threads. */
  threads: readonly ScanThread[];
  /** Scans on the query thread, where the call came in. */
  queryThread: ScanExecutor;
  quarantine: (chunk: DamagedChunk) => void;
  /** What all queries may keep beside columns. */
  queryMemory: QueryMemory;
  /** Takes over work that no query waits for; its failure is logged. */
  runInBackground: (work: Promise<void>) => void;
}

/** What one query needs: the store, and its own limits. */
export interface QueryContext extends ScatterContext {
  /** Goes with every task of the query. */
  control: QueryControl;
}

/** A query that is under way. */
export interface RunningQuery extends Pick<QueryContext, "control"> {
  /** To be called when the query has ended. */
  end: () => void;
}

/** Starts the clock of a query, and its account of what it keeps of the memory of all queries. */
export function startControl(limits: QueryLimits, memory: QueryMemory): RunningQuery {
  const cancel = new Int32Array(new SharedArrayBuffer(4));
  const onAbort = () => void Atomics.store(cancel, 0, 1);
  if (limits.abort?.aborted === true) onAbort();
  limits.abort?.addEventListener("abort", onAbort, { once: true });
  const charge = openCharge(memory);
  return {
    control: {
      cancel,
      deadlineAtMs: monotonicMs() + (limits.deadlineMs ?? defaultDeadlineMs),
      memoryBytesMax: limits.memoryBytes ?? defaultQueryMemoryBytes,
      charge,
      scannedRowsMax: limits.scannedRows ?? Number.MAX_SAFE_INTEGER,
      isWarmUp: limits.isWarmUp === true,
    },
    end: () => {
      limits.abort?.removeEventListener("abort", onAbort);
      closeCharge(charge);
    },
  };
}

/** A signal and a half-open range of time, in nanoseconds since the epoch. */
interface SignalRange extends Pick<RangeSelection, "fromNs" | "toNs"> {
  signal: Signal;
}

/** Asks the scan threads about the residual chunks; `metadata` is what the query thread found, where it was asked. */
export type AskResidual<Answer> = (residual: RowTask, metadata?: MetadataAnswer) => Promise<Answer[]>;

/**
 * Answers a task over the chunks of a range. Where the rows are few and in memory, the query thread scans them.
 * Otherwise it answers from metadata what it can, and the scan threads answer the rest. `taskOf` makes the task for
 * some chunks.
 */
export async function scatterGather<Answer extends ScanAnswer>(
  context: ScatterContext,
  range: SignalRange,
  taskOf: (chunks: ChunkRef[]) => RowTask,
  askResidual: AskResidual<Answer> = (residual) => askScanThreads(context.threads, residual),
): Promise<Answer[]> {
  return retryWithoutDamaged(context, range, async (chunks) => {
    const task = taskOf(chunks);
    if (isSmall(chunks) && task.steps.every(isCheap)) {
      return [(await context.queryThread.run(task)) as Answer];
    }
    if (!isWorthMetadata(task)) return askResidual(task);
    await recallTemplates(context, task);
    const metadata = await context.queryThread.answerFromMetadata(task);
    // The first questions after a warm-up are about chunks that no thread has opened: the scan threads prune them, too.
    if (task.control.isWarmUp) return askResidual(task);
    const answers = await askResidual({ ...task, chunks: [...metadata.residual] }, metadata);
    if (metadata.isLeftToOthers) context.runInBackground(learnMetadata(context, task));
    if (metadata.unlisted.size > 0)
      context.runInBackground(context.queryThread.learn(task, metadata.unlisted, templateSource(context)));
    return [metadata.answer as ScanAnswer as Answer, ...answers];
  });
}

/**
 * Asks about the chunks of a range until none of them turns out to be damaged. Damaged chunks are quarantined before
 * each new round.
 */
export async function retryWithoutDamaged<Answer extends Pick<ScanAnswer, "damaged">>(
  { catalog, quarantine }: ScatterContext,
  { signal, fromNs, toNs }: SignalRange,
  ask: (chunks: ChunkRef[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  for (;;) {
    const chunks = await catalog.findChunks(signal, fromNs, toNs);
    const answers = chunks.length === 0 ? [] : await ask(chunks);
    const damaged = answers.flatMap((answer) => answer.damaged);
    if (damaged.length === 0) return answers;
    for (const chunk of damaged) quarantine(chunk);
  }
}

/**
 * Reads on the query thread the headers and filters that it left to the scan threads, so that it answers the next query of
 * the kind by itself.
 */
async function learnMetadata(context: ScatterContext, task: RowTask): Promise<void> {
  const { queryThread, queryMemory } = context;
  if (queryThread.isLearning) return;
  const abort = new AbortController();
  const { control, end } = startControl({ abort: abort.signal }, queryMemory);
  // Parts are left out: the task would hold their memory while it waits, even after they are sealed.
  const chunks = task.chunks.filter(({ kind }) => kind === "sealed");
  await queryThread.learnMetadata({ ...task, chunks, control }, templateSource(context), {
    abort,
    onRead: end,
  });
}

/**
 * Reads the files of templates, where the task counts all rows by template: to group rows takes longer than to read them, and
 * much more memory.
 */
async function recallTemplates(context: ScatterContext, task: RowTask): Promise<void> {
  if (task.kind !== "aggregate" || !countsAllByTemplate(task) || task.control.isWarmUp) return;
  const sealed = task.chunks.filter((ref) => ref.kind === "sealed");
  await context.queryThread.recall(sealed, templateSource(context), task.control);
}

function templateSource({ catalog, threads, queryMemory }: ScatterContext): TemplateSource {
  return {
    list: async (chunks, options) => {
      const { control, end } = startControl({}, queryMemory);
      const task = { kind: "templates", chunks, ...options, control } as const;
      return (await askScanThreads<ListedTemplates[]>(threads, task).finally(end)).flat();
    },
    read: readTemplateFile,
    write: writeTemplateFile,
    isNewest: ({ signal, day }) => catalog.partitions(signal).at(-1)?.day === day,
    chunksIn: ({ signal, day }) => new Set(catalog.find(signal, day)?.manifest.chunks.map(chunkIdentity)),
  };
}

/** Asks each scan thread about its own chunks of a task. */
export function askScanThreads<Answer>(
  threads: readonly ScanThread[],
  task: RowTask | ArrivedTask | TemplatesTask,
): Promise<Answer[]> {
  return runTasks(divideTask(threads, task));
}

/** The parts of a task, each for the thread that reads its chunks. */
export function divideTask(
  threads: readonly ScanThread[],
  task: RowTask | ArrivedTask | TemplatesTask,
): ThreadTask[] {
  const lists: ChunkRef[][] = threads.map(() => []);
  for (const ref of task.chunks) lists[threadOfChunk(ref, threads.length)]!.push(ref);
  return lists.flatMap((chunks, i) => {
    return chunks.length === 0 ? [] : [{ thread: threads[i]!, task: { ...task, chunks } }];
  });
}

interface ThreadTask {
  thread: ScanThread;
  task: QueryTask;
}

/** Runs tasks at the same time, each on its thread; where one fails, the others are cancelled. */
export async function runTasks<Answer>(tasks: readonly ThreadTask[]): Promise<Answer[]> {
  const answers = tasks.map(({ thread, task }) => runWithin<Answer>(thread, task));
  try {
    return await Promise.all(answers);
  } catch (error) {
    // Nobody will read the other answers.
    for (const { task } of tasks) Atomics.store(task.control.cancel, 0, 1);
    await Promise.allSettled(answers);
    throw error;
  }
}

/** Returns whether chunks have few rows, all in memory. Then waking another thread takes longer than the scan. */
export function isSmall(chunks: readonly ChunkRef[]): boolean {
  let rows = 0;
  for (const ref of chunks) {
    if (ref.kind === "sealed") return false;
    rows += ref.rows;
  }
  return rows <= queryThreadRowsMax;
}

/** Returns whether a step is fast on every row. */
function isCheap(step: Step): boolean {
  return step.kind === "filter" && isVectorised(step.filter);
}

/**
 * Returns whether the query thread should try to answer without columns, which takes less time than waking a scan
 * thread.
 */
function isWorthMetadata({ kind, chunks, steps }: RowTask): boolean {
  return chunks.length <= queryThreadChunksMax && (kind !== "search" || steps.length > 0);
}

/**
 * Returns the index of a chunk's thread. It is always the same, so that the chunk's columns are cached once. Digits of the
 * chunk's number are added up, so that each of the threads also gets its share of every second or fourth chunk: rows that
 * come at regular times lie in such chunks.
 */
export function threadOfChunk(ref: ChunkRef, shards: number): number {
  if (shards === 1) return 0;
  const [day, id] = ref.kind === "sealed" ? [ref.day, ref.entry.id] : [0, ref.id];
  let sum = day;
  for (let rest = id; rest > 0; rest = Math.floor(rest / shards)) sum += rest % shards;
  return sum % shards;
}

/** Runs a task on a thread; where no answer comes in time after the deadline, the thread is ended and replaced. */
export async function runWithin<T>(thread: ScanThread, task: QueryTask): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const wait = task.control.deadlineAtMs - monotonicMs() + deadlineGraceMs;
    if (wait > timerMsMax) return;
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
export function sumScanStatistics(answers: readonly ScanAnswer[]): ScanStatistics {
  const scanned: ScanStatistics = emptyScanStatistics();
  for (const { scanned: part } of answers) {
    addScanStatistics(scanned, part);
    if (part.conditions !== undefined) addConditionStatistics(scanned, part.conditions);
  }
  return scanned;
}
