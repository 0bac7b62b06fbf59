/** A worker thread of the store: answers tasks of protocol.ts. */
import { diskFullMessage, Failure, isDiskFull } from "./failure.ts";
import {
  dropPartition,
  inspectPartition,
  joinImages,
  mendPartition,
  mergeChunks,
  packImages,
  sealChunks,
  sweepChunks,
} from "./keeper.ts";

import type { AggregateAnswer, ArrivedAnswer, WorkerAnswer, WorkerTask } from "./protocol.ts";
import { Scans } from "./scans.ts";
import { movedAnswer, threadOptions } from "./shard.ts";

const scans = new Scans(threadOptions().columnCacheBytes);

export default async function run(task: WorkerTask): Promise<WorkerAnswer<unknown>> {
  try {
    const value = await answer(task);
    if (task.kind === "aggregate") return movedAnswer({ ok: true, value }, (value as AggregateAnswer).states);
    if (task.kind === "arrived") return movedAnswer({ ok: true, value }, (value as ArrivedAnswer).found);
    return { ok: true, value };
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
    case "aggregate":
    case "fields":
    case "read":
    case "arrived":
    case "samples":
    case "series":
    case "census":
      return scans.run(task);
    case "forget":
      return scans.readers.forget(task.dir);
    case "join":
      return joinImages(task);
    case "pack":
      return packImages(task);
    case "seal":
      return sealChunks(task);
    case "merge":
      return mergeChunks(task);
    case "sweep":
      return sweepChunks(task);
    case "inspect":
      return inspectPartition(task);
    case "mend":
      return mendPartition(task);
    case "drop":
      return dropPartition(task.dir);
  }
}
