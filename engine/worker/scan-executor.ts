/** Scans on one thread: chunks that it keeps open, and their columns. */
import { setImmediate } from "node:timers/promises";
import { aggregateChunks } from "../aggregate/aggregate-scan.ts";
import type { AggregateTask } from "../aggregate/aggregate-task.ts";
import type { OpenChunkView, SealedChunkRef } from "../chunk/chunk-ref.ts";
import { ColumnCache, type ColumnCacheOptions } from "../kernels/column-cache.ts";
import { callerTemplatesShare } from "../limits.ts";
import { checkControl, type YieldThread } from "../plan/query-control.ts";
import { type ArrivedTask, scanArrivals } from "../scan/arrival-scan.ts";
import { type ReadTask, readChunk } from "../scan/chunk-read.ts";
import { ChunkReaders } from "../scan/chunk-readers.ts";
import { countFields, type FieldCountTask } from "../scan/field-count-scan.ts";
import { type SearchTask, scanNewest } from "../scan/newest-scan.ts";
import { aggregateSamples } from "../series/sample-scan.ts";
import type { SampleTask } from "../series/sample-task.ts";
import { type CensusTask, countActiveSeries, countSeries, type SeriesTask } from "../series/series-labels.ts";
import { DaySummaries } from "../summary/day-summaries.ts";
import { Settling } from "../summary/metadata-answers.ts";
import { listTemplates, type TemplatesTask } from "../summary/template-listing.ts";
import { type TemplateSource, TemplateSummaries } from "../summary/template-summaries.ts";

/** Tasks that each thread does for its chunks. */
export type RowTask = SearchTask | AggregateTask | FieldCountTask;

export type ScanTask =
  | RowTask
  | ArrivedTask
  | ReadTask
  | SampleTask
  | SeriesTask
  | CensusTask
  | TemplatesTask;

/** Lets go of a partition whose folder is about to be removed. */
interface ForgetTask {
  kind: "forget";
  dir: string;
}

/** Everything that a scan thread does. */
export type ScanThreadTask = ScanTask | ForgetTask;

/** Milliseconds of work after which a scan lets the thread's other work run. */
const turnMs = 4;

export class ScanExecutor {
  readonly readers: ChunkReaders;
  readonly #digests = new DaySummaries();
  readonly #templates: TemplateSummaries;

  constructor(options: ColumnCacheOptions) {
    this.readers = new ChunkReaders(new ColumnCache(options));
    this.#templates = new TemplateSummaries(options.bytesMax * callerTemplatesShare);
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  async run(task: ScanTask): Promise<unknown> {
    const open = this.readers.open.bind(this.readers);
    switch (task.kind) {
      case "read":
        checkControl(task.control);
        return readChunk(task, open);
      case "arrived":
        return scanArrivals(task, open, givingWay());
      case "samples":
        return aggregateSamples(task, open, givingWay());
      case "series":
        return countSeries(task, open, givingWay());
      case "census":
        return countActiveSeries(task, open);
      case "templates":
        return listTemplates(task, open, givingWay());
      default:
        return shared(task, open);
    }
  }

  /** What is known without a column settles; what is left is for the threads that keep the columns. */
  async settle(task: RowTask): Promise<{ answer: unknown; settling: Settling }> {
    const settling = new Settling(this.#digests, this.#templates);
    return { answer: await shared(task, this.readers.open.bind(this.readers), settling), settling };
  }

  /** Takes in the templates of chunks, so that more is known the next time. */
  learn(refs: readonly SealedChunkRef[], source: TemplateSource): Promise<void> {
    return this.#templates.learn(refs, source, givingWay());
  }

  endLearning(): Promise<void> {
    return this.#templates.endLearning();
  }

  /** Lets go of a partition whose folder is about to be removed. */
  forget(dir: string): void {
    this.readers.forget(dir);
    this.#templates.forget(dir);
  }
}

function shared(task: RowTask, open: OpenChunkView, settling?: Settling): Promise<unknown> {
  switch (task.kind) {
    case "search":
      return scanNewest(task, open, givingWay(), settling);
    case "aggregate":
      return aggregateChunks(task, open, givingWay(), settling);
    case "fields":
      return countFields(task, open, givingWay(), settling?.left);
  }
}

function givingWay(): YieldThread {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await setImmediate();
    since = performance.now();
  };
}
