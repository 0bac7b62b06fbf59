/** The CPU time of one thread of this process, read by another thread. */

import { closeSync, openSync, readlinkSync, readSync } from "node:fs";

/**
 * Returns the calling thread's name below /proc, which another thread opens a clock with; undefined where the system has
 * none (not Linux).
 */
export function findOwnThread(): string | undefined {
  try {
    return readlinkSync("/proc/thread-self");
  } catch {
    return undefined;
  }
}

/** Milliseconds of CPU time that a thread used; milliseconds that passed where the system does not count them. */
export class ThreadClock {
  readonly #bytes = Buffer.alloc(64);
  #file: number | undefined;

  /** `thread` is what the thread's `findOwnThread` returned. */
  constructor(thread: string | undefined) {
    if (thread === undefined) return;
    try {
      this.#file = openSync(`/proc/${thread}/schedstat`, "r");
    } catch {
      // A kernel without these statistics, or a /proc that hides them.
    }
  }

  /** Reading takes some microseconds. */
  nowMs(): number {
    if (this.#file === undefined) return performance.now();
    try {
      const length = readSync(this.#file, this.#bytes, 0, this.#bytes.length, 0);
      return Number.parseInt(this.#bytes.toString("latin1", 0, length), 10) / 1e6;
    } catch {
      // The thread has just ended.
      return 0;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
