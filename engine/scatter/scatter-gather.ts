/** Queries over the scan threads: who reads what, and how the parts become one answer. */

import type { ChunkRef, DamagedChunk, SealedRef } from "../chunk/chunk-ref.ts";
import { nameOf } from "../chunk/chunk-ref.ts";
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
import type { Control } from "../plan/query-control.ts";
import { addScanned, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import type { ArrivedTask } from "../scan/arrival-scan.ts";
import type { Settling } from "../summary/metadata-answers.ts";
import type { ListedTemplates, TemplatesTask } from "../summary/template-listing.ts";
import type { Shard } from "../threads/worker-thread.ts";
import type { Scans, SharedTask } from "../worker/scan-executor.ts";
import type { WorkerTask } from "../worker/worker.ts";

export interface QueryLimits {
  /** From now; 30 s by default. */
  deadlineMs?: number;
  /** For each scan thread; 1 GiB by default. */
  memoryBytes?: number;
  /** For each scan thread; no cap by default. */
  scannedRows?: number;
  abort?: AbortSignal;
}

export interface Dispatch {
  catalog: Catalog;
  shards: readonly Shard[];
  /** Scans on the calling thread. */
  caller: Scans;
  setAside: (chunk: DamagedChunk) => void;
  /** Sees to work that nobody waits for. */
  inBackground: (work: Promise<void>) => void;
}

/** A query that is under way: what its tasks carry, and its end. */
export interface Running {
  control: Control;
  end: () => void;
}

export function startControl(limits: QueryLimits): Running {
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
interface Part {
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
export async function askShards<Answer extends Part>(
  dispatch: Dispatch,
  range: SignalRange,
  control: Control,
  taskOf: (chunks: ChunkRef[]) => SharedTask,
  askLeft: AskLeft<Answer> = (whole) => askThreads(dispatch.shards, whole, control),
): Promise<Answer[]> {
  return untilSound(dispatch, () => askOnce(dispatch, range, taskOf, askLeft));
}

/** Asks the threads about what the calling thread left; `settling` tells what it knows, where it had a look. */
export type AskLeft<Answer> = (whole: SharedTask, settling?: Settling) => Promise<Answer[]>;

/** Asks until no chunk turns out damaged: those that do are set aside. */
export async function untilSound<Answer extends Part>(
  { setAside }: Dispatch,
  ask: () => Promise<Answer[]>,
): Promise<Answer[]> {
  for (;;) {
    const answers = await ask();
    const damaged = answers.flatMap((answer) => answer.damaged);
    if (damaged.length === 0) return answers;
    for (const chunk of damaged) setAside(chunk);
  }
}

async function askOnce<Answer>(
  dispatch: Dispatch,
  { signal, fromNs, toNs }: SignalRange,
  taskOf: (chunks: ChunkRef[]) => SharedTask,
  askLeft: AskLeft<Answer>,
): Promise<Answer[]> {
  const { catalog, caller } = dispatch;
  const whole = taskOf(catalog.chunksIn(signal, fromNs, toNs));
  if (whole.chunks.length === 0) return [];
  if (isSmall(whole)) return [(await caller.run(whole)) as Answer];
  if (!maySettle(whole)) return askLeft(whole);
  const { answer, settling } = await caller.settle(whole);
  const answers = await askLeft({ ...whole, chunks: settling.left }, settling);
  // A search may have read only the newest of them.
  if (settling.unknown.size > 0 && whole.kind === "aggregate")
    dispatch.inBackground(learnTemplates(dispatch, [...settling.unknown]));
  return [answer as Answer, ...answers];
}

/** The threads list the templates of chunks; after the query, since they keep the columns that it has read. */
function learnTemplates({ catalog, caller, shards }: Dispatch, refs: readonly SealedRef[]): Promise<void> {
  return caller.learn(refs, {
    list: async (chunks) => {
      const { control } = startControl({});
      const task = { kind: "templates", chunks, control } as const;
      return (await askThreads<ListedTemplates[]>(shards, task, control)).flat();
    },
    chunksIn: (dir) => {
      const partition = catalog.partitions().find((each) => each.dir === dir);
      return new Set(partition?.manifest.chunks.map(nameOf));
    },
  });
}

/** Each thread is asked about its chunks of a task; where one fails, the others are cancelled. */
export async function askThreads<Answer>(
  shards: readonly Shard[],
  whole: SharedTask | ArrivedTask | TemplatesTask,
  control: Control,
): Promise<Answer[]> {
  const lists: ChunkRef[][] = shards.map(() => []);
  for (const ref of whole.chunks) lists[shardOf(ref, shards.length)]!.push(ref);
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
function isSmall({ chunks, steps }: SharedTask): boolean {
  let rows = 0;
  for (const ref of chunks) {
    if (ref.kind === "sealed") return false;
    rows += ref.rows;
  }
  if (rows > callerRowsMax) return false;
  return steps.every((step) => step.kind === "filter" && isVectorised(step.filter));
}

/** What tells without a column is worth a look on the calling thread: to wake another takes longer. */
function maySettle({ kind, chunks, steps }: SharedTask): boolean {
  return chunks.length <= callerChunksMax && (kind !== "search" || steps.length > 0);
}

/** A chunk always goes to the same thread, which keeps its columns. */
export function shardOf(ref: ChunkRef, shards: number): number {
  return (ref.kind === "sealed" ? ref.day + ref.entry.id : ref.id) % shards;
}

/** Runs a task; a thread that does not answer though its deadline is past is replaced. */
export async function runWithin<T>(shard: Shard, task: WorkerTask, control: Control): Promise<T> {
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
export function scannedBy(answers: readonly Part[]): Scanned {
  const scanned: Scanned = nothingScanned();
  for (const answer of answers) addScanned(scanned, answer.scanned);
  return scanned;
}
