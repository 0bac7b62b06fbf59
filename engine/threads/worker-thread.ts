/**
 * A worker thread with a queue of tasks. This is the one file that uses tinypool, which starts and ends the thread.
 * There is one pool for each thread, because tinypool cannot send a task to a chosen thread. Tasks go through a port of
 * their own: after each of its own tasks tinypool measures the thread's memory, which takes 0.1 to 0.2 ms, as long as
 * many a query.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { Tinypool } from "tinypool";
import { Failure, type FailureKind } from "../failure.ts";

/** The result of a task. Errors are sent as data, because structured clone would drop their kind. */
export type WorkerAnswer<T> =
  | { ok: true; value: T }
  | { ok: false; kind: FailureKind | "bug"; message: string };

const isTypeScript = import.meta.url.endsWith(".ts");
const workerUrl = new URL(isTypeScript ? "../worker/worker.ts" : "../worker/worker.js", import.meta.url);

/**
 * New objects of a thread. V8 takes 48 MiB by default, and lets as much memory of vectors that nobody uses any more stand
 * before it looks for it. Encoding makes vectors and few objects, so less costs no time (CPU time of a load, measured).
 */
const youngGenerationMiB = 12;

/** The options that a thread is started with. */
export interface ThreadOptions {
  /** Capacity of the thread's cache of decoded columns. */
  columnCacheBytes: number;
  /** Heap at which the thread is ended; by default that of the process. */
  heapBytes?: number;
  /** See `SharedGarbage`; by default V8 alone decides when it looks for unused objects. */
  sharedGarbageBytes?: number;
  /** True: V8 decides how much memory new objects take, as is fast for queries. */
  hasUsualYoungGeneration?: boolean;
}

/** A task as plain data; `kind` names the function that runs it. */
interface Task {
  kind: string;
}

/** The message that sends a task to the thread. */
interface TaskMessage {
  id: number;
  task: Task;
}

/** The message that returns the answer; `id` is that of the task's message. */
interface AnswerMessage {
  id: number;
  answer: WorkerAnswer<unknown>;
}

/** Returns the options that the current worker thread was started with. */
export function getThreadOptions(): ThreadOptions {
  return Tinypool.workerData as ThreadOptions;
}

/**
 * On a worker thread: runs the tasks that arrive at a port and returns their answers. `transferred` is a part of the
 * answer whose buffers are transferred instead of copied: this thread must not use them any more.
 */
export function serveTasks<T extends Task>(
  port: MessagePort,
  answer: (task: T) => Promise<{ answer: WorkerAnswer<unknown>; transferred?: object | undefined }>,
): void {
  port.on("message", async ({ id, task }: TaskMessage) => {
    const { transferred, ...answered } = await answer(task as T);
    port.postMessage({ id, ...answered }, transferList(transferred));
  });
}

/** Lists every buffer in a part of a message once. Shared memory needs no transfer. */
function transferList(part: object | undefined): ArrayBuffer[] {
  return part === undefined ? [] : [...new Set(buffersIn(part))];
}

/** The buffers of all typed arrays in plain data, possibly more than once. */
function buffersIn(part: object): ArrayBuffer[] {
  if (ArrayBuffer.isView(part)) return part.buffer instanceof ArrayBuffer ? [part.buffer] : [];
  return Object.values(part).flatMap((each) =>
    typeof each === "object" && each !== null ? buffersIn(each) : [],
  );
}

/** The caller of a task that has no answer yet. */
interface PendingTask {
  resolve: (answer: WorkerAnswer<unknown>) => void;
  reject: (error: unknown) => void;
}

/** A started thread and its pending tasks. */
class RunningThread {
  readonly #pool: Tinypool;
  readonly #port: MessagePort;
  readonly #pending = new Map<number, PendingTask>();
  readonly #onEnd: () => void;
  #idNext = 0;
  #ended: Promise<void> | undefined;

  /** `onEnd` is called once, when the thread ends, before its pending tasks fail. */
  constructor(options: ThreadOptions, onEnd: () => void) {
    const { port1, port2 } = new MessageChannel();
    this.#onEnd = onEnd;
    this.#port = port1;
    this.#pool = new Tinypool({
      filename: workerUrl.href,
      minThreads: 1,
      maxThreads: 1,
      workerData: options,
      resourceLimits: {
        ...(options.hasUsualYoungGeneration === true ? {} : { maxYoungGenerationSizeMb: youngGenerationMiB }),
        ...(options.heapBytes === undefined ? {} : { maxOldGenerationSizeMb: options.heapBytes / 2 ** 20 }),
      },
      // Otherwise the thread would block in Atomics.wait and never receive the port's messages.
      useAtomics: false,
    });
    // Either of these two reports why a thread could not load its module.
    this.#pool.on("error", (error: unknown) => void this.end(error));
    this.#pool.run(port2, { transferList: [port2] }).catch((error: unknown) => this.end(error));
    port1.on("message", ({ id, answer }: AnswerMessage) => {
      this.#takePending(id)?.resolve(answer);
    });
    port1.on("messageerror", (error: unknown) => void this.end(error));
    port1.on("close", () => void this.end("its port was closed"));
    // The port keeps the process alive only while a task is pending.
    port1.unref();
  }

  /** Sends a task to the thread; resolves with its answer. */
  send(task: Task, transferred?: object): Promise<WorkerAnswer<unknown>> {
    return new Promise((resolve, reject) => {
      const id = this.#idNext++;
      this.#port.postMessage({ id, task } satisfies TaskMessage, transferList(transferred));
      if (this.#pending.size === 0) this.#port.ref();
      this.#pending.set(id, { resolve, reject });
    });
  }

  /** Ends the thread. Its pending tasks fail with the first cause that was given. */
  end(cause: unknown): Promise<void> {
    this.#ended ??= this.#end(cause);
    return this.#ended;
  }

  async #end(cause: unknown): Promise<void> {
    this.#onEnd();
    const reason = cause instanceof Error ? cause.message : String(cause);
    for (const id of [...this.#pending.keys()]) {
      const failure = new Failure("overload", `a worker thread ended (${reason}); try again`, { cause });
      this.#takePending(id)?.reject(failure);
    }
    this.#port.close();
    await this.#pool.destroy();
  }

  /** Removes a task from the pending tasks and returns it. */
  #takePending(id: number): PendingTask | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#port.unref();
    return pending;
  }
}

/** A worker thread for tasks of type `T`; it is started again after it has ended. */
export class WorkerThread<T extends Task> {
  readonly #concurrent: boolean;
  readonly #options: ThreadOptions;
  /** Undefined after the thread ended or could not be started: the next task starts another. */
  #thread: RunningThread | undefined;
  /**
   * The last task sent; resolves when the task has ended, with or without success. Unused where tasks are concurrent.
   */
  #previous: Promise<unknown> = Promise.resolve();
  #closed = false;

  /**
   * `concurrent`: true where tasks interleave on the thread; else each starts when the previous one has ended.
   * `isLazy`: true where the thread is started by its first task.
   */
  constructor({
    concurrent,
    isLazy = false,
    ...options
  }: { concurrent: boolean; isLazy?: boolean } & ThreadOptions) {
    this.#concurrent = concurrent;
    this.#options = options;
    if (!isLazy) this.#thread = this.#start();
  }

  /**
   * Runs a task. Throws the Failure that the task ended with, and "overload" where its thread ended or could not be
   * started. `transferred` is a part of the task whose buffers are transferred instead of copied: the caller must not
   * use them any more.
   */
  async run<Answer>(task: T, transferred?: object): Promise<Answer> {
    const reply = this.#concurrent ? this.#send(task, transferred) : this.#sendInTurn(task, transferred);
    const answer = (await reply) as WorkerAnswer<Answer>;
    if (answer.ok) return answer.value;
    if (answer.kind === "bug") throw new Error(`worker: ${answer.message}`);
    throw new Failure(answer.kind, answer.message);
  }

  /** Replaces a thread that does not answer; its pending tasks fail. */
  async replace(): Promise<void> {
    if (this.#closed) return;
    const unresponsive = this.#thread;
    this.#thread = this.#start();
    await unresponsive?.end("it did not answer");
  }

  /** Ends the thread; its pending tasks fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.end("the store is closed");
  }

  async #send(task: T, transferred?: object): Promise<WorkerAnswer<unknown>> {
    if (this.#closed) throw new Failure("folder", "the store is closed");
    this.#thread ??= this.#start();
    return this.#thread.send(task, transferred);
  }

  #sendInTurn(task: T, transferred?: object): Promise<WorkerAnswer<unknown>> {
    const reply = this.#previous.then(() => this.#send(task, transferred));
    this.#previous = reply.catch(() => undefined);
    return reply;
  }

  #start(): RunningThread {
    const thread: RunningThread = new RunningThread(this.#options, () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    return thread;
  }
}
