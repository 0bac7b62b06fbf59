/** A worker thread of the store: answers tasks of protocol.ts. */
import { setImmediate } from "node:timers/promises";
import { aggregateChunks } from "./aggregate.ts";
import { ColumnMemory } from "./columnmemory.ts";
import { checkControl } from "./control.ts";
import { diskFullMessage, Failure, isDiskFull } from "./failure.ts";
import {
  dropPartition,
  inspectPartition,
  joinImages,
  mergeChunks,
  packImages,
  repairing,
  sealChunks,
  sweepChunks,
} from "./keeper.ts";
import type { WorkerAnswer, WorkerTask } from "./protocol.ts";
import { readChunk } from "./read.ts";
import { Readers } from "./readers.ts";
import { searchChunks } from "./search.ts";
import { threadOptions } from "./shard.ts";

const readers = new Readers(new ColumnMemory(threadOptions().columnCacheBytes));

/** Milliseconds of work after which a scan lets the thread's other queries run. */
const turnMs = 4;

export default async function run(task: WorkerTask): Promise<WorkerAnswer<unknown>> {
  try {
    return { ok: true, value: await answer(task) };
  } catch (error) {
    if (error instanceof Failure) return { ok: false, kind: error.kind, message: error.message };
    if (isDiskFull(error)) return { ok: false, kind: "disk-full", message: diskFullMessage };
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ok: false, kind: "bug", message };
  }
}

function answer(task: WorkerTask): unknown {
  switch (task.kind) {
    case "search":
      return searchChunks(task, (ref) => readers.open(ref), turn());
    case "aggregate":
      return aggregateChunks(task, (ref) => readers.open(ref), turn());
    case "read":
      checkControl(task.control);
      return readChunk(task, (ref) => readers.open(ref));
    case "forget":
      return readers.forget(task.dir);
    case "join":
      return joinImages(task);
    case "pack":
      return packImages(task);
    case "seal":
      return repairing(task, () => sealChunks(task));
    case "merge":
      return repairing(task, () => mergeChunks(task));
    case "sweep":
      return repairing(task, () => sweepChunks(task));
    case "inspect":
      return inspectPartition(task);
    case "drop":
      return dropPartition(task.dir);
  }
}

function turn(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await setImmediate();
    since = performance.now();
  };
}
