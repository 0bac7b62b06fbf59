/** A decoding thread: decodes groups of bodies, one after the other, each within a CPU time and a memory of its own. */

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { ThreadClock } from "../../engine/index.ts";
import { MiB } from "../model/limits.ts";
import {
  type BodyTask,
  type DecodeAnswer,
  type DecodeResult,
  type DecodeThreadData,
  listBuffers,
} from "./decode-task.ts";
import { decodeWallFactor, decodeYoungGenerationMiB } from "./limits.ts";

/** Why a thread ended before it answered. */
export type EndCause = "time" | "memory" | "closed" | Error;

/** What became of a group of bodies. */
export type GroupOutcome =
  | { ended: false; results: DecodeResult }
  /** `position` is that of the body that was being decoded. */
  | { ended: true; cause: EndCause; position: number };

/** Series that a thread keeps from body to body: bytes at most, and as a share of its heap where that is small. */
const seriesBytesMax = 64 * MiB;
const seriesHeapShare = 8;
/** The least time between two looks at a thread that has nearly used its time. */
const watchMsMin = 10;

export class DecodeThread {
  readonly #worker: Worker;
  /** In shared memory: the position in its group of the body that is being decoded. */
  readonly #position = new Int32Array(new SharedArrayBuffer(4));
  readonly #onEnd: (cause: EndCause) => void;
  #settle: (outcome: GroupOutcome) => void = () => undefined;
  /** Called with the position of a body in the group whose pieces are read. */
  #onRead: (position: number) => void = () => undefined;
  /** Resolves once the thread has loaded its program; never where it ends before. */
  readonly ready: Promise<void>;
  #ending: Promise<void> | undefined;
  #clock = new ThreadClock(undefined);
  /** What the clock showed when the group that is decoded began. */
  #beganCpuMs = 0;

  /** A thread that takes more than `heapBytes` of heap is ended. `onEnd` is called when the thread has ended, for whatever reason. */
  constructor(heapBytes: number, onEnd: (cause: EndCause) => void) {
    this.#onEnd = onEnd;
    // A file beside this one: TypeScript, or JavaScript once built.
    const program = new URL(`./decode-worker${extname(import.meta.url)}`, import.meta.url);
    this.#worker = new Worker(program, {
      workerData: {
        position: this.#position,
        seriesBytesMax: Math.min(seriesBytesMax, heapBytes / seriesHeapShare),
      } satisfies DecodeThreadData,
      resourceLimits: {
        maxOldGenerationSizeMb: heapBytes / MiB,
        maxYoungGenerationSizeMb: decodeYoungGenerationMiB,
      },
    });
    this.ready = new Promise((resolve) => {
      this.#worker.on("message", (answer: DecodeAnswer) => {
        if ("thread" in answer) {
          this.#clock = new ThreadClock(answer.thread);
          this.#releaseProcess();
          resolve();
        } else if ("read" in answer) this.#onRead(answer.read);
        else this.#settle({ ended: false, results: answer });
      });
    });
    this.#worker.on("error", (error: NodeJS.ErrnoException) => {
      void this.end(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : error);
    });
    this.#worker.on("exit", () => void this.end(new Error("a decoding thread ended by itself")));
  }

  /**
   * Decodes a group on a thread that is ready. The thread is ended where that takes more CPU time than `msMax`, or very
   * much longer by the clock. Never rejects.
   */
  async decode(
    tasks: readonly BodyTask[],
    msMax: number,
    onRead: (position: number) => void,
  ): Promise<GroupOutcome> {
    this.#onRead = onRead;
    const outcome = new Promise<GroupOutcome>((resolve) => {
      this.#settle = resolve;
    });
    const wallEndMs = performance.now() + msMax * decodeWallFactor;
    this.#beganCpuMs = this.#clock.nowMs();
    let timer: NodeJS.Timeout;
    // A thread uses no more CPU time than passes by the clock: it is looked at again when it may have used the rest.
    const watch = (restMs: number) => {
      timer = setTimeout(() => {
        const leftMs = Math.min(msMax - this.groupCpuMs(), wallEndMs - performance.now());
        if (leftMs <= 0) void this.end("time");
        else watch(Math.max(leftMs, watchMsMin));
      }, restMs);
    };
    watch(msMax);
    Atomics.store(this.#position, 0, 0);
    // Only a thread that loads its program or works keeps the process alive: bodies may wait for it.
    this.#worker.ref();
    const bytes = tasks.flatMap(({ body, pieces = [] }) => [body, ...pieces.map((piece) => piece.bytes)]);
    try {
      this.#worker.postMessage(tasks, listBuffers(bytes));
    } catch (error) {
      void this.end(error as Error);
    }
    try {
      return await outcome;
    } finally {
      clearTimeout(timer!);
      this.#releaseProcess();
    }
  }

  /** CPU time of the group that is decoded, or that was decoded last. */
  groupCpuMs(): number {
    return this.#clock.nowMs() - this.#beganCpuMs;
  }

  /** The thread keeps the process alive no longer, unless it is being ended: somebody waits for that. */
  #releaseProcess(): void {
    if (this.#ending === undefined) this.#worker.unref();
  }

  /** Ends the thread; the group that it decodes gets the first cause that was given. */
  end(cause: EndCause): Promise<void> {
    this.#ending ??= this.#end(cause);
    return this.#ending;
  }

  async #end(cause: EndCause): Promise<void> {
    await this.#worker.terminate();
    this.#clock.close();
    this.#onEnd(cause);
    this.#settle({ ended: true, cause, position: Atomics.load(this.#position, 0) });
  }
}
