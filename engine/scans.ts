/** Scans on one thread: chunks that it keeps open, and their columns. */
import { setImmediate } from "node:timers/promises";
import { aggregateChunks } from "./aggregate.ts";
import { arrivedRows } from "./arrived.ts";
import { ColumnMemory, type ColumnMemoryOptions } from "./columnmemory.ts";
import { checkControl } from "./control.ts";
import { Digests } from "./digests.ts";
import { countFields } from "./fieldcounts.ts";
import { aggregateSamples } from "./metrics/aggregate.ts";
import { countSeries, noteSeries } from "./metrics/serieslabels.ts";
import type { ChunkRef, ScanTask, SharedTask } from "./protocol.ts";
import { readChunk } from "./read.ts";
import { Readers } from "./readers.ts";
import { type OpenView, type Pause, searchChunks } from "./search.ts";

/** Milliseconds of work after which a scan lets the thread's other work run. */
const turnMs = 4;

export class Scans {
  readonly readers: Readers;
  readonly #digests = new Digests();

  constructor(options: ColumnMemoryOptions) {
    this.readers = new Readers(new ColumnMemory(options));
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
      default:
        return shared(task, open);
    }
  }

  /** What headers and filters settle; `left` is for the threads that keep the columns. */
  async settle(task: SharedTask): Promise<{ answer: unknown; left: ChunkRef[] }> {
    const left: ChunkRef[] = [];
    const open = this.readers.open.bind(this.readers);
    if (task.kind !== "aggregate") return { answer: await shared(task, open, left), left };
    return { answer: await aggregateChunks(task, open, givingWay(), { digests: this.#digests, left }), left };
  }
}

function shared(task: SharedTask, open: OpenView, left?: ChunkRef[]): Promise<unknown> {
  switch (task.kind) {
    case "search":
      return searchChunks(task, open, givingWay(), left);
    case "aggregate":
      return aggregateChunks(task, open, givingWay());
    case "fields":
      return countFields(task, open, givingWay(), left);
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
