/** The tasks of a synchronisation: the newest one of each object, in the order in which they came. */

import { objectsAtOnceMax, putOffMsMax, requestBytesMax, retryMsMin } from "./limits.ts";

/** A task and the name of its object. */
export type Named<T> = readonly [name: string, task: T];

interface QueuedTask<T> {
  readonly task: T;
  /** When it may be sent, in milliseconds of a monotonic clock. */
  dueMs: number;
  /** How long it was put off the last time; 0 where it never was. */
  delayMs: number;
}

export class TaskQueue<T extends { readonly bytes: number }> {
  readonly #queued = new Map<string, QueuedTask<T>>();
  /** Tasks of one batch. Fewer after a batch that failed as a whole, so that one bad task does not hold up many. */
  #batchMax = objectsAtOnceMax;

  get size(): number {
    return this.#queued.size;
  }

  /** True where a task was put off and is not done yet. */
  get hasPutOff(): boolean {
    return this.#queued.values().some(({ delayMs }) => delayMs > 0);
  }

  get(name: string): T | undefined {
    return this.#queued.get(name)?.task;
  }

  /** Takes the newest task of an object in place of any other. */
  set(name: string, task: T): void {
    this.#queued.set(name, { task, dueMs: 0, delayMs: 0 });
  }

  delete(name: string): void {
    this.#queued.delete(name);
  }

  /** Removes a task that is done, unless a newer one of its object has come. */
  finish(name: string, task: T): void {
    if (this.get(name) === task) this.#queued.delete(name);
  }

  /** The next tasks that are due, as many as one request takes. They stay in the queue. */
  nextBatch(nowMs: number): Named<T>[] {
    const batch: Named<T>[] = [];
    let bytes = 0;
    for (const [name, { task, dueMs }] of this.#queued) {
      if (dueMs > nowMs) continue;
      bytes += task.bytes;
      if (batch.length > 0 && (batch.length >= this.#batchMax || bytes > requestBytesMax)) break;
      batch.push([name, task]);
    }
    return batch;
  }

  /** Time until a task is due; infinite where there is none. */
  dueInMs(nowMs: number): number {
    return this.#queued.values().reduce((least, { dueMs }) => Math.min(least, dueMs - nowMs), Infinity);
  }

  /** Sends a task again after a while, which is twice as long each time. Others go on. `share`: of that while, up to 1. */
  putOff(name: string, task: T, nowMs: number, share: number): void {
    const queued = this.#queued.get(name);
    if (queued?.task !== task) return;
    queued.delayMs = Math.min(putOffMsMax, Math.max(retryMsMin, 2 * queued.delayMs));
    queued.dueMs = nowMs + queued.delayMs * share;
  }

  /** Is to be called when a batch failed as a whole: tasks of it that wait go behind all others. */
  noteFailed(batch: readonly Named<T>[]): void {
    this.#batchMax = Math.max(1, Math.floor(this.#batchMax / 2));
    for (const [name, task] of batch) {
      const queued = this.#queued.get(name);
      if (queued?.task !== task) continue;
      this.#queued.delete(name);
      this.#queued.set(name, queued);
    }
  }

  /** Is to be called when the hub has answered for each task of a batch. */
  noteAnswered(): void {
    this.#batchMax = Math.min(objectsAtOnceMax, 2 * this.#batchMax);
  }
}
