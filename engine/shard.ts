/** One worker thread behind a queue. The one importer of tinypool, which has one pool a thread, since it knows no affinity. */
import { Tinypool } from "tinypool";
import { Failure } from "./failure.ts";
import type { WorkerAnswer, WorkerTask } from "./protocol.ts";

/** Queries that take turns on one thread. */
const concurrentTasks = 1024;
const isTypeScript = import.meta.url.endsWith(".ts");
const workerUrl = new URL(isTypeScript ? "./worker.ts" : "./worker.js", import.meta.url);

/** What a thread is started with. */
export interface ThreadOptions {
  columnCacheBytes: number;
}

/** On a worker thread: its options. */
export function threadOptions(): ThreadOptions {
  return Tinypool.workerData as ThreadOptions;
}

export class Shard {
  readonly #concurrent: boolean;
  readonly #options: ThreadOptions;
  #pool: Tinypool;
  #closed = false;

  constructor({ concurrent, ...options }: { concurrent: boolean } & ThreadOptions) {
    this.#concurrent = concurrent;
    this.#options = options;
    this.#pool = this.#start();
  }

  /** Throws the Failure that the task ended with. */
  async run<T>(task: WorkerTask): Promise<T> {
    const answer = (await this.#pool.run(task)) as WorkerAnswer<T>;
    if (answer.ok) return answer.value;
    if (answer.kind === "bug") throw new Error(`worker: ${answer.message}`);
    throw new Failure(answer.kind, answer.message);
  }

  /** Ends a thread that does not answer and starts another; tasks that were on it fail. */
  async replace(): Promise<void> {
    if (this.#closed) return;
    const hung = this.#pool;
    this.#pool = this.#start();
    await hung.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.destroy();
  }

  #start(): Tinypool {
    return new Tinypool({
      filename: workerUrl.href,
      minThreads: 1,
      maxThreads: 1,
      workerData: this.#options,
      concurrentTasksPerWorker: this.#concurrent ? concurrentTasks : 1,
    });
  }
}
