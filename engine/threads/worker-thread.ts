/**
 * One worker thread behind a queue. The one importer of tinypool, which has one pool a thread, since it knows no affinity. tinypool
 * starts and ends the thread; tasks have a port of their own, since tinypool measures the thread's memory at the end of each of its
 * tasks, which takes 0.1 to 0.2 ms, as long as many a query.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { Tinypool } from "tinypool";
import { Failure, type FailureKind } from "../failure.ts";

/** Errors cross threads as data: structured clone would drop their kind. */
export type WorkerAnswer<T> =
  | { ok: true; value: T }
  | { ok: false; kind: FailureKind | "bug"; message: string };

const isTypeScript = import.meta.url.endsWith(".ts");
const workerUrl = new URL(isTypeScript ? "../worker/worker.ts" : "../worker/worker.js", import.meta.url);

/** What a thread is started with. */
export interface ThreadOptions {
  columnCacheBytes: number;
}

/** What a thread is asked to do, as plain data: `kind` says which function does it. */
interface Task {
  kind: string;
}

/** A task on its way to the thread. */
interface TaskMessage {
  id: number;
  task: Task;
}

/** The answer on its way back, under the id of its task. */
interface AnswerMessage {
  id: number;
  answer: WorkerAnswer<unknown>;
}

/** On a worker thread: its options. */
export function threadOptions(): ThreadOptions {
  return Tinypool.workerData as ThreadOptions;
}

/**
 * On a worker thread: answers the tasks that come through a port. The buffers of `transferred`, a part of the answer, change threads
 * without a copy: this thread must not use them any more.
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

/** Every buffer of a part of a message once; buffers in shared memory need no transfer. */
function transferList(part: object | undefined): ArrayBuffer[] {
  return part === undefined ? [] : [...new Set(buffersIn(part))];
}

/** The buffers of all typed arrays in plain data. */
function buffersIn(part: object): ArrayBuffer[] {
  if (ArrayBuffer.isView(part)) return part.buffer instanceof ArrayBuffer ? [part.buffer] : [];
  return Object.values(part).flatMap((each) =>
    typeof each === "object" && each !== null ? buffersIn(each) : [],
  );
}

interface Waiting {
  resolve: (answer: WorkerAnswer<unknown>) => void;
  reject: (error: unknown) => void;
}

/** A thread that runs, and who waits for it. */
class RunningThread {
  readonly #pool: Tinypool;
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEnd: () => void;
  #idNext = 0;
  #ended: Promise<void> | undefined;

  /** `onEnd`: called once the thread has ended, before those who wait hear of it. */
  constructor(options: ThreadOptions, onEnd: () => void) {
    const { port1, port2 } = new MessageChannel();
    this.#onEnd = onEnd;
    this.#port = port1;
    this.#pool = new Tinypool({
      filename: workerUrl.href,
      minThreads: 1,
      maxThreads: 1,
      workerData: options,
      // The thread waits in its event loop, where the port is heard.
      useAtomics: false,
    });
    // Of a thread that cannot load its module, one or the other tells why.
    this.#pool.on("error", (error: unknown) => void this.end(error));
    this.#pool.run(port2, { transferList: [port2] }).catch((error: unknown) => this.end(error));
    port1.on("message", ({ id, answer }: AnswerMessage) => {
      this.#settled(id)?.resolve(answer);
    });
    port1.on("messageerror", (error: unknown) => void this.end(error));
    port1.on("close", () => void this.end("its port was closed"));
    // A program may end while nobody waits.
    port1.unref();
  }

  ask(task: Task, transferred?: object): Promise<WorkerAnswer<unknown>> {
    return new Promise((resolve, reject) => {
      const id = this.#idNext++;
      this.#port.postMessage({ id, task } satisfies TaskMessage, transferList(transferred));
      if (this.#waiting.size === 0) this.#port.ref();
      this.#waiting.set(id, { resolve, reject });
    });
  }

  /** Ends the thread; whoever waits is told the cause that came first. */
  end(cause: unknown): Promise<void> {
    this.#ended ??= this.#end(cause);
    return this.#ended;
  }

  async #end(cause: unknown): Promise<void> {
    this.#onEnd();
    const reason = cause instanceof Error ? cause.message : String(cause);
    for (const id of [...this.#waiting.keys()]) {
      const failure = new Failure("overload", `a worker thread ended (${reason}); try again`, { cause });
      this.#settled(id)?.reject(failure);
    }
    this.#port.close();
    await this.#pool.destroy();
  }

  #settled(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#port.unref();
    return waiting;
  }
}

/** One worker thread that does tasks of some kinds, and is started again where it ended. */
export class WorkerThread<T extends Task> {
  readonly #concurrent: boolean;
  readonly #options: ThreadOptions;
  /** Undefined after one could not be started: the next task tries again. */
  #thread: RunningThread | undefined;
  /** The task before, where tasks follow one another; it resolves whatever became of it. */
  #before: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** `concurrent`: whether tasks take turns on the thread; else each begins when the one before has ended. */
  constructor({ concurrent, ...options }: { concurrent: boolean } & ThreadOptions) {
    this.#concurrent = concurrent;
    this.#options = options;
    this.#thread = this.#start();
  }

  /**
   * Throws the Failure that the task ended with; "overload" where its thread ended, or could not be started. The buffers of
   * `transferred`, a part of the task, change threads without a copy: the caller must not use them any more.
   */
  async run<Answer>(task: T, transferred?: object): Promise<Answer> {
    const asked = this.#concurrent ? this.#ask(task, transferred) : this.#askInTurn(task, transferred);
    const answer = (await asked) as WorkerAnswer<Answer>;
    if (answer.ok) return answer.value;
    if (answer.kind === "bug") throw new Error(`worker: ${answer.message}`);
    throw new Failure(answer.kind, answer.message);
  }

  /** Ends a thread that does not answer and starts another; tasks that were on it fail. */
  async replace(): Promise<void> {
    if (this.#closed) return;
    const hung = this.#thread;
    this.#thread = this.#start();
    await hung?.end("it did not answer");
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.end("the store is closed");
  }

  async #ask(task: T, transferred?: object): Promise<WorkerAnswer<unknown>> {
    if (this.#closed) throw new Failure("folder", "the store is closed");
    this.#thread ??= this.#start();
    return this.#thread.ask(task, transferred);
  }

  #askInTurn(task: T, transferred?: object): Promise<WorkerAnswer<unknown>> {
    const asked = this.#before.then(() => this.#ask(task, transferred));
    this.#before = asked.catch(() => undefined);
    return asked;
  }

  #start(): RunningThread {
    const thread: RunningThread = new RunningThread(this.#options, () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    return thread;
  }
}
