/** A worker thread of the store: answers tasks of protocol.ts. */
import type { MessagePort } from "node:worker_threads";
import type { AggregateAnswer } from "../aggregate/aggregate-scan.ts";
import { type LiftTask, liftChunk, liftFile, liftRecords } from "../backup/backup-reader.ts";
import { diskFullMessage, Failure, isDiskFull } from "../failure.ts";
import type { KeeperTask } from "../maintenance/maintenance-task.ts";
import {
  dropPartition,
  inspectPartition,
  joinImages,
  mendPartition,
  mergeChunks,
  packImages,
  sealChunks,
  sweepChunks,
} from "../maintenance/maintenance-worker.ts";
import type { ArrivedAnswer } from "../scan/arrival-scan.ts";
import type { SampleAnswer } from "../series/sample-scan.ts";
import type { ListedTemplates } from "../summary/template-listing.ts";
import type { WorkerAnswer } from "../threads/worker-thread.ts";
import { answerTasks, threadOptions } from "../threads/worker-thread.ts";
import { Scans, type ScanTask } from "./scan-executor.ts";

/** Lets go of a partition whose folder is about to be removed. */
export interface ForgetTask {
  kind: "forget";
  dir: string;
}

export type WorkerTask = ScanTask | ForgetTask | KeeperTask | LiftTask;

const scans = new Scans({ bytesMax: threadOptions().columnCacheBytes, keepsRecent: false });

/** What tinypool runs on the thread. */
export default function serve(port: MessagePort): void {
  answerTasks(port, run);
}

async function run(task: WorkerTask): Promise<{ answer: WorkerAnswer<unknown>; moved?: object | undefined }> {
  try {
    const value = await answer(task);
    return { answer: { ok: true, value }, moved: movedPart(task, value) };
  } catch (error) {
    return { answer: refusal(error) };
  }
}

function refusal(error: unknown): WorkerAnswer<never> {
  if (error instanceof Failure) return { ok: false, kind: error.kind, message: error.message };
  if (isDiskFull(error)) return { ok: false, kind: "disk-full", message: diskFullMessage };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { ok: false, kind: "bug", message };
}

/** What of an answer changes threads: it is this thread's alone, and may be large. */
function movedPart({ kind }: WorkerTask, value: unknown): object | undefined {
  if (value instanceof Uint8Array) return value;
  if (kind === "aggregate") return (value as AggregateAnswer).states;
  if (kind === "templates") return value as ListedTemplates[];
  if (kind === "arrived") return (value as ArrivedAnswer).found;
  return kind === "samples" ? (value as SampleAnswer).points.part : undefined;
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
    case "templates":
      return scans.run(task);
    case "forget":
      return scans.forget(task.dir);
    case "lift-chunk":
      return liftChunk(task, scans.readers);
    case "lift-file":
      return liftFile(task);
    case "lift-records":
      return liftRecords(task);
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
