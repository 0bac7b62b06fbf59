/** The module that every worker thread of the store runs: it maps each kind of task to the function that runs it. */

import type { MessagePort } from "node:worker_threads";
import type { AggregateAnswer } from "../aggregate/aggregate-task.ts";
import {
  type BackupReadTask,
  readChunkFrames,
  readFilePrefix,
  readWholeRecords,
} from "../backup/backup-reader.ts";
import { sumPartBytes } from "../chunk/chunk-ref.ts";
import type { PackedChunk } from "../chunk/packed-chunk.ts";
import { diskFullMessage, Failure, isDiskFull } from "../failure.ts";
import type { MaintenanceTask } from "../maintenance/maintenance-task.ts";
import {
  collectGarbage,
  compactParts,
  confirmSeal,
  dropPartition,
  encodeParts,
  inspectPartition,
  mergeChunks,
  recheckPartition,
  repairFoundDamage,
  sealChunks,
} from "../maintenance/maintenance-worker.ts";
import type { ArrivedAnswer } from "../scan/arrival-scan.ts";
import type { RowColumnsAnswer } from "../scan/row-columns-scan.ts";
import type { SampleAnswer } from "../series/sample-task.ts";
import type { ListedTemplates } from "../summary/template-listing.ts";
import { SharedGarbage } from "../threads/shared-garbage.ts";
import { getThreadOptions, serveTasks, type WorkerAnswer } from "../threads/worker-thread.ts";
import { ScanExecutor, type ScanThreadTask } from "./scan-executor.ts";

type WorkerTask = ScanThreadTask | MaintenanceTask | BackupReadTask;

const { columnCacheBytes, sharedGarbageBytes = Number.POSITIVE_INFINITY } = getThreadOptions();
const scans = new ScanExecutor({ bytesMax: columnCacheBytes, keepsRecent: false });

const garbage = new SharedGarbage(sharedGarbageBytes);

/** The entry point: tinypool calls it once on the new thread. */
export default function serve(port: MessagePort): void {
  serveTasks(port, run);
}

/** Tasks that have begun and not ended. */
let running = 0;
/** When nobody has asked for so long, a thread reads ahead; before, a block of texts after each task. */
const idleMs = 50;
let whenIdle: NodeJS.Timeout | undefined;

/** Reads ahead for the next query, a block of texts at a time, while there is no task. */
function readAhead(): void {
  if (running > 0 || !scans.readers.readAhead()) return;
  clearTimeout(whenIdle);
  whenIdle = setTimeout(readOn, idleMs);
}

function readOn(): void {
  if (running === 0 && scans.readers.readAhead()) setImmediate(readOn);
}

/** Runs a task; errors become answers. */
async function run(
  task: WorkerTask,
): Promise<{ answer: WorkerAnswer<unknown>; transferred?: object | undefined }> {
  running++;
  clearTimeout(whenIdle);
  try {
    const value = await dispatch(task);
    return { answer: { ok: true, value }, transferred: transferredPart(task, value) };
  } catch (error) {
    return { answer: toErrorAnswer(error) };
  } finally {
    running--;
    setImmediate(readAhead);
    garbage.add(partBytes(task));
  }
}

/** Bytes of the parts, in shared memory, that a task reads. */
function partBytes(task: WorkerTask): number {
  switch (task.kind) {
    case "compact-parts":
    case "encode-parts":
      return sumPartBytes(task.parts);
    case "seal":
      return sumPartBytes(task.chunks.filter((chunk) => "bytes" in chunk));
    default:
      return 0;
  }
}

function toErrorAnswer(error: unknown): WorkerAnswer<never> {
  if (error instanceof Failure) return { ok: false, kind: error.kind, message: error.message };
  if (isDiskFull(error)) return { ok: false, kind: "disk-full", message: diskFullMessage };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { ok: false, kind: "bug", message };
}

/** The part of an answer whose buffers are transferred: only this thread has them, and they may be large. */
function transferredPart({ kind }: WorkerTask, value: unknown): object | undefined {
  if (value instanceof Uint8Array) return value;
  if (kind === "aggregate") return (value as AggregateAnswer).states;
  if (kind === "templates") return value as ListedTemplates[];
  if (kind === "encode-parts") return value as PackedChunk[];
  if (kind === "columns") return value as RowColumnsAnswer;
  if (kind === "arrived") return (value as ArrivedAnswer).found;
  return kind === "samples" ? (value as SampleAnswer).points.part : undefined;
}

function dispatch(task: WorkerTask): unknown {
  switch (task.kind) {
    case "search":
    case "aggregate":
    case "fields":
    case "values":
    case "columns":
    case "read":
    case "arrived":
    case "samples":
    case "series":
    case "census":
    case "templates":
      return scans.run(task);
    case "forget":
      return scans.forget(task.dir, task.chunks);
    case "end-warm-up-round":
      return scans.endWarmUpRound();
    case "backup-chunk":
      return readChunkFrames(task, scans.readers);
    case "backup-file":
      return readFilePrefix(task);
    case "backup-records":
      return readWholeRecords(task);
    case "compact-parts":
      return compactParts(task);
    case "encode-parts":
      return encodeParts(task);
    case "seal":
      return sealChunks(task);
    case "confirm-seal":
      return confirmSeal(task);
    case "merge":
      return mergeChunks(task);
    case "collect-garbage":
      return collectGarbage(task);
    case "inspect":
      return inspectPartition(task);
    case "repair":
      return repairFoundDamage(task);
    case "recheck":
      return recheckPartition(task);
    case "drop":
      return dropPartition(task.dir);
  }
}
