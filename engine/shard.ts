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

/** On a worker thread: an answer of which the buffers of one part change threads instead of being copied. */
export function movedAnswer<Answer extends object>(answer: Answer, part: object): Answer {
  const moved = {
    [Tinypool.transferableSymbol]: [...new Set(buffersIn(part))],
    [Tinypool.valueSymbol]: answer,
  };
  // Its types do not say what its symbols stand for.
  return Tinypool.move(moved as unknown as ArrayBuffer) as unknown as Answer;
}

/** Of all typed arrays in plain data. */
function buffersIn(part: object): ArrayBuffer[] {
  if (ArrayBuffer.isView(part)) return part.buffer instanceof ArrayBuffer ? [part.buffer] : [];
  return Object.values(part).flatMap((each) =>
    typeof each === "object" && each !== null ? buffersIn(each) : [],
  );
}

interface Thread {
  pool: Tinypool;
  /** Called where the thread ends before it has answered, one for each task. */
  waiting: Set<(error: unknown) => void>;
}

export class Shard {
  readonly #concurrent: boolean;
  readonly #options: ThreadOptions;
  /** Undefined after one could not be started: the next task tries again. */
  #thread: Thread | undefined;
  #closed = false;

  constructor({ concurrent, ...options }: { concurrent: boolean } & ThreadOptions) {
    this.#concurrent = concurrent;
    this.#options = options;
    this.#thread = this.#start();
  }

  /** Throws the Failure that the task ended with; "overload" where its thread ended, or could not be started. */
  async run<T>(task: WorkerTask): Promise<T> {
    if (this.#closed) throw new Failure("folder", "the store is closed");
    this.#thread ??= this.#start();
    const answer = (await answerOf(this.#thread, task)) as WorkerAnswer<T>;
    if (answer.ok) return answer.value;
    if (answer.kind === "bug") throw new Error(`worker: ${answer.message}`);
    throw new Failure(answer.kind, answer.message);
  }

  /** Ends a thread that does not answer and starts another; tasks that were on it fail. */
  async replace(): Promise<void> {
    if (this.#closed) return;
    const hung = this.#thread;
    this.#thread = this.#start();
    await hung?.pool.destroy();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.pool.destroy();
  }

  #start(): Thread {
    const pool = new Tinypool({
      filename: workerUrl.href,
      minThreads: 1,
      maxThreads: 1,
      workerData: this.#options,
      concurrentTasksPerWorker: this.#concurrent ? concurrentTasks : 1,
    });
    const thread: Thread = { pool, waiting: new Set() };
    // A thread ended outside of any task, as one does that cannot load its module. Tasks in the queue would wait for ever.
    pool.on("error", (error: unknown) => {
      if (this.#thread === thread) this.#thread = undefined;
      for (const fail of [...thread.waiting]) fail(error);
      void pool.destroy();
    });
    return thread;
  }
}

function answerOf({ pool, waiting }: Thread, task: WorkerTask): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      reject(new Failure("overload", `a worker thread ended (${reason}); try again`, { cause }));
    };
    waiting.add(fail);
    void pool
      .run(task)
      .then(resolve, fail)
      .finally(() => waiting.delete(fail));
  });
}
