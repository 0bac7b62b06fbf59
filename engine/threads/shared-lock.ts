/** A lock that many pieces of work hold together, or one alone. Whoever asks first gets it first. */
interface Waiting {
  isExclusive: boolean;
  begin: () => void;
}

export class SharedLock {
  readonly #waiting: Waiting[] = [];
  #sharers = 0;
  #isExclusive = false;

  /** Runs work beside other shared work. It must not ask for the lock again. */
  async shared<T>(work: () => T | Promise<T>): Promise<T> {
    await this.#acquire(false);
    try {
      return await work();
    } finally {
      this.#sharers--;
      this.#admit();
    }
  }

  /** Runs work while no other holds the lock. It must not ask for the lock again. */
  async exclusive<T>(work: () => T | Promise<T>): Promise<T> {
    await this.#acquire(true);
    try {
      return await work();
    } finally {
      this.#isExclusive = false;
      this.#admit();
    }
  }

  async #acquire(isExclusive: boolean): Promise<void> {
    await new Promise<void>((begin) => {
      this.#waiting.push({ isExclusive, begin });
      this.#admit();
    });
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
