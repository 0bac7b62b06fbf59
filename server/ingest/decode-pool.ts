/**
 * The decoding threads and the bodies that wait for them. Each sender has a queue; the sender whose bodies took the
 * least time is next. There is one thread more than one sender may use, so that others are served beside it.
 */

import { performance } from "node:perf_hooks";
import type { MemoryBudget } from "../../engine/index.ts";
import { MiB } from "../model/limits.ts";
import { Refusal, tryLater } from "../throttle/refusal.ts";
import { SharedBudget } from "../throttle/shared-budget.ts";
import { type BodyTask, type DecodedBody, sumBytes } from "./decode-task.ts";
import { DecodeThread, type EndCause, type GroupOutcome } from "./decode-thread.ts";
import { decodeGroupBodies, decodeGroupBytes, slowDecodeMs, slowSenderMs } from "./limits.ts";

export interface DecodePoolOptions {
  memory: DecodeMemory;
  /** A thread that decodes a group of bodies for longer is ended. CPU time. */
  decodeMsMax: number;
  /** Called for each thread that was ended. */
  onEnded: (cause: "time" | "memory" | "fault") => void;
}

/** What the pool needs to know of the division of memory. */
type DecodeMemory = Pick<
  MemoryBudget,
  | "decodeThreads"
  | "pieceThreads"
  | "hasSpareDecodeThread"
  | "decodeHeapBytes"
  | "requestBytes"
  | "socketBytes"
>;

/** A body on which the decoder failed: it would fail on it again. */
export class DecoderFault extends Error {}

interface Job {
  task: BodyTask;
  bytes: number;
  onRead: (() => void) | undefined;
  resolve: (decoded: DecodedBody) => void;
  reject: (error: unknown) => void;
}

interface Sender {
  waiting: Job[];
  /** Threads that decode its bodies now. */
  running: number;
  /** Time that its bodies took, counted from `#servedMs` where it had none for a while. */
  usedMs: number;
  /** Until then it counts as slow: one of its groups took longer than `slowDecodeMs`. */
  slowUntilMs: number;
}

const stopping = tryLater("the server is stopping", 5);

export class DecodePool {
  readonly #options: DecodePoolOptions;
  /** Senders with bodies, and those that count as slow. */
  readonly #senders = new Map<string, Sender>();
  readonly #threads = new Set<DecodeThread>();
  /** Threads that are ready and decode nothing. */
  readonly #idle = new Set<DecodeThread>();
  /** Threads that load their program. */
  readonly #loading = new Set<DecodeThread>();
  /** Threads that there should be: one more once there are several senders. */
  #threadsWanted: number;
  #onlySender: string | undefined;
  /** Bytes of bodies that wait. Above it the answer is 503 rather than a long wait. */
  readonly #waitingBytes: SharedBudget;
  /** The `usedMs` of the sender that was served last: a sender that comes anew begins with it. */
  #servedMs = 0;
  #waitingBodies = 0;
  #isClosed = false;
  readonly #begun = Promise.withResolvers<void>();

  constructor(options: DecodePoolOptions) {
    this.#options = options;
    const { decodeThreads, requestBytes, socketBytes } = options.memory;
    this.#waitingBytes = new SharedBudget(requestBytes + socketBytes);
    this.#threadsWanted = decodeThreads;
    this.#startThreads();
  }

  /** Resolves once a decoding thread can begin, or has failed to start; bodies are refused in that case. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Starts the threads that bodies in pieces may use: some will come. */
  expectPieces(): void {
    this.#threadsWanted = Math.max(this.#threadsWanted, this.#options.memory.pieceThreads);
    this.#startThreads();
  }

  /** Bodies that wait for a thread. */
  get waiting(): number {
    return this.#waitingBodies;
  }

  /**
   * Decodes a body. Throws Refusal 503 where its sender has too much waiting or the server is stopping, 413 where the body takes
   * too much time or memory; DecoderFault where the decoder fails on it. `onRead` is called once the pieces of the body are
   * not needed any more.
   */
  decode(task: BodyTask, onRead?: () => void): Promise<DecodedBody> {
    if (this.#isClosed) throw stopping;
    const bytes = task.body.length + sumBytes(task.pieces ?? []);
    if (!this.#waitingBytes.take(task.sender, bytes)) {
      throw tryLater("more telemetry comes in than the server can read; try again", 1);
    }
    this.#onlySender ??= task.sender;
    const spare = this.#onlySender !== task.sender && this.#options.memory.hasSpareDecodeThread ? 1 : 0;
    this.#threadsWanted = Math.max(this.#threadsWanted, this.#threadsFor(task) + spare);
    this.#startThreads();
    return new Promise((resolve, reject) => {
      const sender = this.#findSender(task.sender);
      sender.waiting.push({ task, bytes, onRead, resolve, reject });
      this.#waitingBodies++;
      this.#startDecoding();
    });
  }

  /** Ends the threads; bodies that wait or are being decoded are refused with 503. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectWaiting(stopping);
    await Promise.all([...this.#threads].map((thread) => thread.end("closed")));
  }

  /** Threads that one sender may use for bodies like this one. */
  #threadsFor({ pieces }: BodyTask): number {
    const { decodeThreads, pieceThreads } = this.#options.memory;
    return pieces === undefined ? decodeThreads : pieceThreads;
  }

  #findSender(id: string): Sender {
    let sender = this.#senders.get(id);
    if (sender === undefined) {
      sender = { waiting: [], running: 0, usedMs: this.#servedMs, slowUntilMs: 0 };
      this.#senders.set(id, sender);
    }
    // What a sender did not use while it sent nothing is not saved up.
    if (sender.waiting.length + sender.running === 0) {
      sender.usedMs = Math.max(sender.usedMs, this.#servedMs);
    }
    return sender;
  }

  #startDecoding(): void {
    while (!this.#isClosed) {
      const next = this.#nextSender();
      if (next === undefined) return;
      const [thread] = this.#idle;
      if (thread === undefined) return;
      this.#idle.delete(thread);
      const [id, sender] = next;
      this.#servedMs = Math.max(this.#servedMs, sender.usedMs);
      void this.#run(id, sender, thread);
    }
  }

  /** Starts the threads that are missing. */
  #startThreads(): void {
    while (!this.#isClosed && this.#threads.size < this.#threadsWanted) {
      const { decodeHeapBytes } = this.#options.memory;
      const thread = new DecodeThread(decodeHeapBytes, (cause) => this.#forget(thread, cause));
      this.#threads.add(thread);
      this.#loading.add(thread);
      void thread.ready.then(() => this.#onReady(thread));
    }
  }

  #onReady(thread: DecodeThread): void {
    this.#loading.delete(thread);
    this.#idle.add(thread);
    this.#begun.resolve();
    this.#startDecoding();
  }

  /**
   * The sender with waiting bodies that used the least time, of those that may use one more thread. Slow senders wait
   * while a thread is loading: the one that is idle may be the only one for others.
   */
  #nextSender(): [string, Sender] | undefined {
    const nowMs = performance.now();
    const threads = this.#options.memory.decodeThreads;
    const isSlow = ({ slowUntilMs }: Sender) => slowUntilMs > nowMs;
    const slowRunning = [...this.#senders.values()].reduce(
      (sum, sender) => sum + (isSlow(sender) ? sender.running : 0),
      0,
    );
    let next: [string, Sender] | undefined;
    for (const entry of this.#senders) {
      const [id, sender] = entry;
      if (sender.waiting.length === 0) {
        if (sender.running === 0 && !isSlow(sender)) this.#senders.delete(id);
        continue;
      }
      const mayRun = isSlow(sender)
        ? slowRunning < threads && this.#loading.size === 0
        : sender.running < this.#threadsFor(sender.waiting[0]!.task);
      if (mayRun && (next === undefined || sender.usedMs < next[1].usedMs)) next = entry;
    }
    return next;
  }

  async #run(id: string, sender: Sender, thread: DecodeThread): Promise<void> {
    const jobs = takeGroup(sender.waiting);
    this.#waitingBodies -= jobs.length;
    for (const { bytes } of jobs) this.#waitingBytes.give(id, bytes);
    sender.running++;
    const startedMs = performance.now();
    const outcome = await thread.decode(
      jobs.map(({ task }) => task),
      this.#options.decodeMsMax,
      (position) => jobs[position]?.onRead?.(),
    );
    const endedMs = performance.now();
    sender.running--;
    sender.usedMs += endedMs - startedMs;
    // The CPU time, which takes a system call to read, is never more than the time by the clock.
    const isSlow =
      outcome.ended || (endedMs - startedMs > slowDecodeMs && thread.groupCpuMs() > slowDecodeMs);
    if (isSlow) sender.slowUntilMs = endedMs + slowSenderMs;
    if (!outcome.ended) this.#idle.add(thread);
    this.#startDecoding();
    answer(jobs, outcome, this.#options);
  }

  #forget(thread: DecodeThread, cause: EndCause): void {
    this.#threads.delete(thread);
    this.#idle.delete(thread);
    this.#begun.resolve();
    if (this.#isClosed) return;
    this.#options.onEnded(cause === "time" || cause === "memory" ? cause : "fault");
    // A program that does not load would not load at the next start either: the next body tries again.
    if (!this.#loading.delete(thread)) this.#startThreads();
    else if (this.#threads.size === 0) this.#rejectWaiting(new Error(`no decoding thread starts: ${cause}`));
  }

  #rejectWaiting(error: Error): void {
    for (const [id, { waiting }] of this.#senders) {
      for (const { bytes, reject } of waiting.splice(0)) {
        this.#waitingBodies--;
        this.#waitingBytes.give(id, bytes);
        reject(error);
      }
    }
  }
}

/** Takes waiting bodies, at least one, up to the size of a group. */
function takeGroup(waiting: Job[]): Job[] {
  let bytes = 0;
  let count = 0;
  while (count < waiting.length && count < decodeGroupBodies) {
    bytes += waiting[count]!.bytes;
    if (count > 0 && bytes > decodeGroupBytes) break;
    count++;
  }
  return waiting.splice(0, count);
}

/** Where the thread was ended, only the body that it decoded is at fault; the others may be sent again. */
function answer(jobs: readonly Job[], outcome: GroupOutcome, options: DecodePoolOptions): void {
  for (const [i, { resolve, reject }] of jobs.entries()) {
    if (outcome.ended) {
      reject(
        i === outcome.position
          ? makeEndError(outcome.cause, options)
          : tryLater("another body of this sender ended the thread that read both; try again", 1),
      );
      continue;
    }
    const result = outcome.results[i]!;
    if ("decoded" in result) resolve(result.decoded);
    else reject(new DecoderFault(`a body could not be decoded: ${result.fault}`));
  }
}

function makeEndError(cause: EndCause, { decodeMsMax, memory }: DecodePoolOptions): Error {
  switch (cause) {
    case "time":
      return new Refusal(
        413,
        `the body takes longer than ${decodeMsMax / 1000} s to read: send it in smaller parts`,
      );
    case "memory":
      return new Refusal(
        413,
        `the body takes more than ${Math.floor(memory.decodeHeapBytes / MiB)} MiB of memory to read: send it in smaller parts`,
      );
    case "closed":
      return stopping;
    default:
      return new DecoderFault(`a body ended its decoding thread: ${cause.message}`, { cause });
  }
}
