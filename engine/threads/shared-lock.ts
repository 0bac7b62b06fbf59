/** A lock for work that shares something, or needs it alone. */
import { setTimeout as sleep } from "node:timers/promises";

/** Work that waits for the lock. */
interface Waiting {
  isExclusive: boolean;
  begin: () => void;
}

/** How often work that waits looks whether it is still wanted. */
const checkEveryMs = 20;

/**
 * A lock that many pieces of work hold together, or one alone. Whoever asks first gets it first. Work must not ask for the lock
 * again. While it waits, and before it begins after that, `check` is called: what that throws ends the wait.
 */
export class SharedLock {
  readonly #waiting: Waiting[] = [];
  #sharers = 0;
  #isExclusive = false;

  /** Runs work beside other shared work. */
  async shared<T>(work: () => T | Promise<T>, check: () => void): Promise<T> {
    const isFree = this.#waiting.length === 0 && !this.#isExclusive;
    if (isFree) this.#sharers++;
    else await this.#acquire(false, check);
    try {
      if (!isFree) check();
      return await work();
    } finally {
      this.#sharers--;
      this.#admit();
    }
  }

  /** Runs work while no other holds the lock. */
  async exclusive<T>(work: () => T | Promise<T>, check: () => void): Promise<T> {
    await this.#acquire(true, check);
    try {
      check();
      return await work();
    } finally {
      this.#isExclusive = false;
      this.#admit();
    }
  }

  async #acquire(isExclusive: boolean, check: () => void): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const waiting: Waiting = { isExclusive, begin: begun.resolve };
    this.#waiting.push(waiting);
    this.#admit();
    while (this.#waiting.includes(waiting)) {
      await Promise.race([begun.promise, sleep(checkEveryMs)]);
      if (!this.#waiting.includes(waiting)) break;
      try {
        check();
      } catch (error) {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        this.#admit();
        throw error;
      }
    }
  }

  /** Gives the lock to those at the head of the queue who can hold it now. */
  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#isExclusive || (next.isExclusive && this.#sharers > 0)) return;
      this.#waiting.shift();
      if (next.isExclusive) this.#isExclusive = true;
      else this.#sharers++;
      next.begin();
    }
  }
}
