/** A decoding thread: decodes groups of bodies, one after the other, each within a time and a memory of its own. */

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { BodyTask, DecodeAnswer, DecodeResult } from "./decode-task.ts";
import { decodeHeapMiB } from "./limits.ts";

/** Why a thread ended before it answered. */
export type EndCause = "time" | "memory" | "closed" | Error;

/** What became of a group of bodies. */
export type GroupOutcome =
  | { ended: false; results: DecodeResult }
  /** `position` is that of the body that was being decoded. */
  | { ended: true; cause: EndCause; position: number };

export class DecodeThread {
  readonly #worker: Worker;
  /** In shared memory: the position in its group of the body that is being decoded. */
  readonly #position = new Int32Array(new SharedArrayBuffer(4));
  readonly #onEnd: (cause: EndCause) => void;
  #settle: (outcome: GroupOutcome) => void = () => undefined;
  /** Resolves once the thread has loaded its program; never where it ends before. */
  readonly ready: Promise<void>;
  #ending: Promise<void> | undefined;

  /** `onEnd` is called when the thread has ended, for whatever reason. */
  constructor(onEnd: (cause: EndCause) => void) {
    this.#onEnd = onEnd;
    // A file beside this one: TypeScript, or JavaScript once built.
    const program = new URL(`./decode-worker${extname(import.meta.url)}`, import.meta.url);
    this.#worker = new Worker(program, {
      workerData: this.#position,
      resourceLimits: { maxOldGenerationSizeMb: decodeHeapMiB },
    });
    this.ready = new Promise((resolve) => {
      this.#worker.on("message", (answer: DecodeAnswer) => {
        if (answer === "ready") {
          this.#releaseProcess();
          resolve();
        } else this.#settle({ ended: false, results: answer });
      });
    });
    this.#worker.on("error", (error: NodeJS.ErrnoException) => {
      void this.end(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : error);
    });
    this.#worker.on("exit", () => void this.end(new Error("a decoding thread ended by itself")));
  }

  /** Decodes a group on a thread that is ready. The thread is ended where that takes longer than `msMax`. Never rejects. */
  async decode(tasks: readonly BodyTask[], msMax: number): Promise<GroupOutcome> {
    const outcome = new Promise<GroupOutcome>((resolve) => {
      this.#settle = resolve;
    });
    const timer = setTimeout(() => void this.end("time"), msMax);
    Atomics.store(this.#position, 0, 0);
    // Only a thread that loads its program or works keeps the process alive: bodies may wait for it.
    this.#worker.ref();
    this.#worker.postMessage(
      tasks,
      tasks.map(({ body }) => body.buffer),
    );
    try {
      return await outcome;
    } finally {
      clearTimeout(timer);
      this.#releaseProcess();
    }
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
    this.#onEnd(cause);
    this.#settle({ ended: true, cause, position: Atomics.load(this.#position, 0) });
  }
}
