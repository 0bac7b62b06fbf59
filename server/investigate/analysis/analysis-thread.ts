/** Runs analyses on threads: a long one neither holds up requests nor outlives its deadline. */

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { Failure, type QueryLimits } from "../../../engine/index.ts";
import { MiB } from "../../model/limits.ts";
import type { Analysis, AnalysisTask } from "./analysis.ts";

/** The most memory of the thread for objects; the columns are beside it. */
const heapBytesMax = 512 * MiB;

/** Throws Failure "deadline", "cancelled", "limit", and Error where the analysis itself fails. */
export async function runAnalysis(task: AnalysisTask, limits: QueryLimits = {}): Promise<Analysis> {
  // A file beside this one: TypeScript, or JavaScript once built.
  const program = new URL(`./analysis-worker${extname(import.meta.url)}`, import.meta.url);
  const heapBytes = Math.min(heapBytesMax, limits.memoryBytes ?? heapBytesMax);
  const worker = new Worker(program, {
    workerData: task,
    transferList: buffersOf(task),
    resourceLimits: { maxOldGenerationSizeMb: heapBytes / MiB },
  });
  let timer: NodeJS.Timeout | undefined;
  const { abort, deadlineMs } = limits;
  let onAbort = (): void => undefined;
  try {
    return await new Promise<Analysis>((resolve, reject) => {
      onAbort = () => reject(new Failure("cancelled", "the investigation was cancelled"));
      abort?.addEventListener("abort", onAbort, { once: true });
      if (abort?.aborted === true) onAbort();
      if (deadlineMs !== undefined)
        timer = setTimeout(
          () => reject(new Failure("deadline", "the investigation took longer than its deadline")),
          Math.max(0, deadlineMs),
        );
      worker.once("message", resolve);
      worker.once("error", (error: NodeJS.ErrnoException) => {
        const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
        reject(isMemory ? new Failure("limit", "the investigation needs too much memory") : error);
      });
      worker.once("exit", () => reject(new Error("the thread of the investigation ended by itself")));
    });
  } finally {
    clearTimeout(timer);
    abort?.removeEventListener("abort", onAbort);
    void worker.terminate();
  }
}

/** The buffers of all columns: they move to the thread instead of being copied. */
function buffersOf({ telemetry: { spans, logs, focus } }: AnalysisTask): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const collect = (value: unknown) => {
    if (ArrayBuffer.isView(value)) {
      if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    } else if (typeof value === "object" && value !== null && !Array.isArray(value))
      for (const each of Object.values(value)) collect(each);
  };
  collect(spans);
  collect(logs);
  collect(focus);
  return [...found];
}
