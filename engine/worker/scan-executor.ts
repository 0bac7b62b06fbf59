/** Scans on one thread: chunks that it keeps open, and their columns. */
import { setImmediate } from "node:timers/promises";
import { type AggregateTask, aggregateChunks } from "../aggregate/aggregate-scan.ts";
import type { OpenView, SealedRef } from "../chunk/chunk-ref.ts";
import { ColumnMemory, type ColumnMemoryOptions } from "../kernels/column-cache.ts";
import { callerTemplatesShare } from "../limits.ts";
import { checkControl, type Pause } from "../plan/query-control.ts";
import { type ArrivedTask, arrivedRows } from "../scan/arrival-scan.ts";
import { type ReadTask, readChunk } from "../scan/chunk-read.ts";
import { Readers } from "../scan/chunk-readers.ts";
import { countFields, type FieldsTask } from "../scan/field-count-scan.ts";
import { type SearchTask, searchChunks } from "../scan/newest-scan.ts";
import { aggregateSamples, type SampleTask } from "../series/sample-scan.ts";
import { type CensusTask, countSeries, noteSeries, type SeriesTask } from "../series/series-labels.ts";
import { Digests } from "../summary/day-summaries.ts";
import { Settling } from "../summary/metadata-answers.ts";
import { listTemplates, type TemplatesTask } from "../summary/template-listing.ts";
import { TemplateDigests, type TemplateSource } from "../summary/template-summaries.ts";

/** Tasks that each thread does for its chunks. */
export type SharedTask = SearchTask | AggregateTask | FieldsTask;

export type ScanTask =
  | SharedTask
  | ArrivedTask
  | ReadTask
  | SampleTask
  | SeriesTask
  | CensusTask
  | TemplatesTask;

/** Milliseconds of work after which a scan lets the thread's other work run. */
const turnMs = 4;

export class Scans {
  readonly readers: Readers;
  readonly #digests = new Digests();
  readonly #templates: TemplateDigests;

  constructor(options: ColumnMemoryOptions) {
    this.readers = new Readers(new ColumnMemory(options));
    this.#templates = new TemplateDigests(options.bytesMax * callerTemplatesShare);
  }

  /** Throws Failure "input", "deadline", "cancelled", "limit". */
  async run(task: ScanTask): Promise<unknown> {
    const open = this.readers.open.bind(this.readers);
    switch (task.kind) {
      case "read":
        checkControl(task.control);
        return readChunk(task, open);
      case "arrived":
        return arrivedRows(task, open, givingWay());
      case "samples":
        return aggregateSamples(task, open, givingWay());
      case "series":
        return countSeries(task, open, givingWay());
      case "census":
        return noteSeries(task, open);
      case "templates":
        return listTemplates(task, open, givingWay());
      default:
        return shared(task, open);
    }
  }

  /** What is known without a column settles; what is left is for the threads that keep the columns. */
  async settle(task: SharedTask): Promise<{ answer: unknown; settling: Settling }> {
    const settling = new Settling(this.#digests, this.#templates);
    return { answer: await shared(task, this.readers.open.bind(this.readers), settling), settling };
  }

  /** Takes in the templates of chunks, so that more is known the next time. */
  learn(refs: readonly SealedRef[], source: TemplateSource): Promise<void> {
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

function shared(task: SharedTask, open: OpenView, settling?: Settling): Promise<unknown> {
  switch (task.kind) {
    case "search":
      return searchChunks(task, open, givingWay(), settling);
    case "aggregate":
      return aggregateChunks(task, open, givingWay(), settling);
    case "fields":
      return countFields(task, open, givingWay(), settling?.left);
  }
}

function givingWay(): Pause {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await setImmediate();
    since = performance.now();
  };
}
