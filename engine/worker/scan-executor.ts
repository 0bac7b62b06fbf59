/** Carries out scan tasks on one thread: a scan thread, or the query thread for what is small or needs no column. */
import { setTimeout } from "node:timers/promises";
import { aggregateChunks, aggregateFromMetadata } from "../aggregate/aggregate-scan.ts";
import type { AggregateAnswer, AggregateTask } from "../aggregate/aggregate-task.ts";
import { countsAllByTemplate } from "../aggregate/aggregate-templates.ts";
import type { ChunkRef, SealedChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkAccess } from "../chunk/chunk-task.ts";
import { Failure } from "../failure.ts";
import { queryThreadTemplatesShare, unopenedChunksMin } from "../limits.ts";
import { checkControl, isOver, type QueryControl, type YieldThread } from "../plan/query-control.ts";
import { closeTaskCharge, openTaskCharge } from "../plan/query-memory.ts";
import { type ArrivedTask, scanArrivals } from "../scan/arrival-scan.ts";
import { type ReadTask, readChunk } from "../scan/chunk-read.ts";
import { ChunkReaders } from "../scan/chunk-readers.ts";
import { ColumnCache, type ColumnCacheOptions, ColumnMemoryFailure } from "../scan/column-cache.ts";
import {
  countFields,
  countFieldsFromMetadata,
  type FieldCountAnswer,
  type FieldCountTask,
} from "../scan/field-count-scan.ts";
import {
  type PrunedSearch,
  pruneSearch,
  type SearchAnswer,
  type SearchTask,
  scanFirstRows,
} from "../scan/first-rows-scan.ts";
import {
  pruneRowColumns,
  type RowColumnsAnswer,
  type RowColumnsTask,
  readRowColumns,
} from "../scan/row-columns-scan.ts";
import {
  countFieldValues,
  pruneValueCount,
  type ValueCountAnswer,
  type ValueCountTask,
} from "../scan/value-count-scan.ts";
import { aggregateSamples } from "../series/sample-scan.ts";
import type { SampleTask } from "../series/sample-task.ts";
import {
  type CountActiveSeriesTask,
  countActiveSeries,
  countSeries,
  type SeriesCountTask,
} from "../series/series-labels.ts";
import { DaySummaries, type UncountedDay } from "../summary/day-summaries.ts";
import { TemplateCounts } from "../summary/template-counts.ts";
import { listTemplates, type TemplatesTask } from "../summary/template-listing.ts";
import {
  type ListingOptions,
  type TemplateSource,
  TemplateSummaries,
} from "../summary/template-summaries.ts";
import { SharedLock } from "../threads/shared-lock.ts";
import { Turns } from "../threads/turns.ts";

/** Tasks that each thread does for its own chunks; the query thread tries them first without reading columns. */
export type RowTask = SearchTask | AggregateTask | FieldCountTask | ValueCountTask | RowColumnsTask;

/** Queries on one thread. */
export type ScanTask =
  | RowTask
  | ArrivedTask
  | ReadTask
  | SampleTask
  | SeriesCountTask
  | CountActiveSeriesTask
  | TemplatesTask;

/** Closes chunks that are about to be removed, or a partition whose folder is. */
interface ForgetTask {
  kind: "forget";
  dir: string;
  /** Undefined: the whole partition. */
  chunks: readonly number[] | undefined;
}

/** Closes what queries of a warm-up opened. */
interface EndWarmUpRoundTask {
  kind: "end-warm-up-round";
}

/** Every task of a scan thread. */
export type ScanThreadTask = ScanTask | ForgetTask | EndWarmUpRoundTask;

/** What the query thread answers without columns. */
export interface MetadataAnswer extends Omit<PrunedSearch, "answer"> {
  answer: AggregateAnswer | SearchAnswer | FieldCountAnswer | ValueCountAnswer | RowColumnsAnswer;
  /** See `TemplateCounts.unlisted`. */
  unlisted: ReadonlyMap<SealedChunkRef, ListingOptions>;
  /** Whether some residual chunks were not opened. */
  isLeftToOthers: boolean;
  /** Days whose counts are worth keeping: the next query would be answered from them. See `keepCounts`. */
  uncounted?: readonly UncountedDay[];
}

/**
 * Milliseconds between the end of a query and the reading of the metadata that it needed. Often another query follows at
 * once, and should not wait for that. Chosen, not measured.
 */
const learnAfterMs = 50;
/** Failures after which the next query reads what was not learned. */
const learningEnds: ReadonlySet<Failure["kind"]> = new Set(["cancelled", "deadline", "limit"]);

/** Milliseconds of work after which a scan lets other work of its thread run. */
const turnMs = 4;

/** Carries out scans on one thread, with the chunks and columns that the thread keeps. */
export class ScanExecutor {
  readonly readers: ChunkReaders;
  readonly #cache: ColumnCache;
  /** Held while a task has chunks open. */
  readonly #columnLock = new SharedLock();
  /** Chunks that the present warm-up has open. */
  #warmUpReaders: ChunkReaders | undefined;
  readonly #summaries = new DaySummaries();
  readonly #templates: TemplateSummaries;
  /** Cancels the call of `learnMetadata` that waits or reads. */
  #learning: AbortController | undefined;
  /** Calls of `learnMetadata` that have not ended. */
  readonly #learnings = new Set<Promise<void>>();

  constructor(options: ColumnCacheOptions) {
    this.#cache = new ColumnCache(options);
    this.readers = new ChunkReaders(this.#cache);
    this.#templates = new TemplateSummaries(options.bytesMax * queryThreadTemplatesShare);
  }

  /** Carries out a task, reading columns where it must. Throws Failure "input", "deadline", "cancelled", "limit". */
  run(task: ScanTask): Promise<unknown> {
    return this.#withColumns(task, (charged, access) => this.#run(charged, access));
  }

  async #run(task: ScanTask, access: ChunkAccess): Promise<unknown> {
    switch (task.kind) {
      case "read":
        checkControl(task.control);
        return access.useColumns(() => readChunk(task, access));
      case "arrived":
        return scanArrivals(task, access);
      case "samples":
        return aggregateSamples(task, access);
      case "series":
        return countSeries(task, access);
      case "census":
        return access.useColumns(() => countActiveSeries(task, access));
      case "templates":
        return listTemplates(task, access);
      case "search":
        return scanFirstRows(task, access);
      case "aggregate":
        return aggregateChunks(task, access);
      case "fields":
        return countFields(task, access);
      case "values":
        return countFieldValues(task, access);
      case "columns":
        return readRowColumns(task, access);
    }
  }

  /**
   * Answers what needs no column. Where there are `unopenedChunksMin` chunks or more that this thread has not opened, it
   * leaves them to the scan threads, which read their headers and filters in parallel. A search is an exception: it may
   * need the first chunk alone; so are chunks that are counted by their templates, which are known. Throws as `run`.
   */
  async answerFromMetadata(task: RowTask): Promise<MetadataAnswer> {
    const left = new Set<ChunkRef>();
    const isByTemplate = task.kind === "aggregate" && countsAllByTemplate(task);
    const leftToOthers = (chunks: readonly ChunkRef[]): ReadonlySet<ChunkRef> => {
      const unopened = chunks.filter((ref) => {
        if (ref.kind !== "sealed" || this.readers.isOpen(ref)) return false;
        return !(isByTemplate && this.#templates.hasGroups(ref));
      });
      if (unopened.length >= unopenedChunksMin) for (const ref of unopened) left.add(ref);
      return left;
    };
    const opensAll = task.kind === "search" || task.control.isWarmUp;
    const answer = await this.#withColumns(task, (charged, access) =>
      this.#readMetadata(charged, opensAll ? access : { ...access, leftToOthers }),
    );
    return { ...answer, isLeftToOthers: answer.residual.some((ref) => left.has(ref)) };
  }

  async #readMetadata(task: RowTask, access: ChunkAccess): Promise<Omit<MetadataAnswer, "isLeftToOthers">> {
    const templates = new TemplateCounts(this.#templates);
    const { countTexts, unlisted } = templates;
    const unknown = { rowsInFirst: 0, unlisted };
    switch (task.kind) {
      case "search":
        return { unlisted, ...(await pruneSearch(task, access, countTexts)) };
      case "aggregate": {
        const sources = { summaries: this.#summaries, templates };
        return { ...unknown, ...(await aggregateFromMetadata(task, access, sources)) };
      }
      case "fields":
        return { ...unknown, ...(await countFieldsFromMetadata(task, access, templates)) };
      case "values":
        return { ...unknown, ...(await pruneValueCount(task, access)) };
      case "columns":
        return { ...unknown, ...(await pruneRowColumns(task, access)) };
    }
  }

  /**
   * Lists what a task found unknown of some chunks, so that the next task can be answered from it. After a count of rows or
   * fields the scan threads have the columns for it in their caches. A search may have read only the newest chunks, so nothing
   * is listed after it.
   */
  async learn(
    { kind }: Pick<RowTask, "kind">,
    unlisted: ReadonlyMap<SealedChunkRef, ListingOptions>,
    source: TemplateSource,
  ): Promise<void> {
    if (kind !== "aggregate" && kind !== "fields") return;
    const byListing = Map.groupBy(unlisted.keys(), (ref) => unlisted.get(ref)!.withAttributes);
    for (const [withAttributes, refs] of byListing)
      await this.#templates.learn(refs, source, yieldWhenDue(), { withAttributes });
  }

  /** Reads the files of the templates of chunks that are not known yet, until the query must end. */
  async recall(
    refs: readonly SealedChunkRef[],
    source: TemplateSource,
    control: QueryControl,
  ): Promise<void> {
    if (!this.#templates.canRecall(refs)) return;
    await this.#templates.recall(refs, source, yieldWhenDue(), () => isOver(control));
  }

  /** Whether `learnMetadata` waits or reads. */
  get isLearning(): boolean {
    return this.#learning !== undefined;
  }

  /**
   * Waits for `learnAfterMs`, reads the headers and filters that answer a task, and lists the templates that do, so that
   * this thread answers the next task of the kind. `abort` cancels the task. `onRead` is called once headers and filters
   * are read; `isLearning` is true until then.
   */
  async learnMetadata(
    task: RowTask,
    source: TemplateSource,
    { abort, onRead }: { abort: AbortController; onRead: () => void },
  ): Promise<void> {
    const ended = this.#learnMetadata(task, source, { signal: abort.signal, onRead });
    this.#learning = abort;
    this.#learnings.add(ended);
    await ended.finally(() => this.#learnings.delete(ended));
  }

  async #learnMetadata(
    task: RowTask,
    source: TemplateSource,
    { signal, onRead }: { signal: AbortSignal; onRead: () => void },
  ): Promise<void> {
    let unlisted: MetadataAnswer["unlisted"];
    try {
      await setTimeout(learnAfterMs, undefined, { signal });
      ({ unlisted } = await this.#withColumns(task, (charged, access) =>
        this.#readMetadata(charged, access),
      ));
      checkControl(task.control);
    } catch (error) {
      if (signal.aborted || (error instanceof Failure && learningEnds.has(error.kind))) return;
      throw error;
    } finally {
      this.#learning = undefined;
      onRead();
    }
    await this.learn(task, unlisted, source);
  }

  /** Keeps the counts of a day; see `DaySummaries.keep`. */
  keepCounts(day: UncountedDay, counts: ReadonlyMap<string, number> | "too many"): void {
    this.#summaries.keep(day, counts);
  }

  /** Cancels `learnMetadata`, and ends the listing of templates; resolves when neither reads any more. */
  async endLearning(): Promise<void> {
    this.#learning?.abort();
    await this.#templates.endLearning();
    // Whoever began them reports their failures.
    await Promise.allSettled([...this.#learnings]);
  }

  /** Closes chunks that are about to be removed, or without `chunks` a partition whose folder is. */
  forget(dir: string, chunks?: readonly number[]): void {
    for (const readers of [this.readers, this.#warmUpReaders])
      if (chunks === undefined) readers?.forget(dir);
      else readers?.forgetChunks(dir, chunks);
    if (chunks !== undefined) return;
    this.#templates.forget(dir);
    this.#summaries.forget(dir);
  }

  /** Closes what queries of a warm-up opened, which must have ended, and prepares memory for other queries. */
  endWarmUpRound(): void {
    this.#warmUpReaders?.close();
    this.#warmUpReaders = undefined;
    this.#cache.prepare();
  }

  /**
   * Runs a task. Where its columns do not fit into the cache beside those of other tasks, it runs once more, and no other
   * task reads columns while it does.
   */
  async #withColumns<Task extends ScanTask, Answer>(
    task: Task,
    run: (task: Task, access: ChunkAccess) => Promise<Answer>,
  ): Promise<Answer> {
    const open = this.#opener(task);
    const check = () => {
      if ("control" in task) checkControl(task.control);
    };
    const runWith = (useColumns: ChunkAccess["useColumns"]) =>
      withCharge(task, (charged) => run(charged, { open, useColumns, yieldThread: yieldWhenDue() }));
    try {
      return await runWith((work) => this.#columnLock.shared(work, check));
    } catch (error) {
      if (!(error instanceof ColumnMemoryFailure) || !error.isShared) throw error;
      return runWith((work) => this.#columnLock.exclusive(work, check));
    }
  }

  #opener(task: ScanTask): ChunkAccess["open"] {
    const readers = "control" in task && task.control.isWarmUp ? this.#openWarmUpReaders() : this.readers;
    return (ref) => readers.open(ref);
  }

  #openWarmUpReaders(): ChunkReaders {
    this.#warmUpReaders ??= new ChunkReaders(this.#cache);
    return this.#warmUpReaders;
  }
}

/**
 * Runs a task, and counts what it keeps beside columns until it ends. Its answer is not counted here: the thread that
 * merges the answers counts it.
 */
async function withCharge<Task extends ScanTask, Answer>(
  task: Task,
  run: (task: Task) => Promise<Answer>,
): Promise<Answer> {
  if (!("control" in task)) return run(task);
  const charge = openTaskCharge(task.control.charge);
  try {
    return await run({ ...task, control: { ...task.control, charge } });
  } finally {
    closeTaskCharge(charge);
  }
}

/** Lets other work of the thread run where the scan has worked for `turnMs`. */
function yieldWhenDue(): YieldThread {
  const turns = new Turns(turnMs);
  return async () => {
    if (turns.isOver) await turns.next();
  };
}
