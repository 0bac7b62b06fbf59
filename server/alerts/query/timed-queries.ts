/** Queries that run, each for so long at most; whoever does not listen to that is left alone. */
export class TimedQueries {
  readonly #msMax: number;
  /** Each ends one that runs. */
  readonly #running = new Set<(reason: Error) => void>();

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  async run<T>(query: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    let end: (reason: Error) => void = () => undefined;
    const ended = new Promise<never>((_, reject) => {
      end = (reason) => {
        controller.abort();
        reject(reason);
      };
    });
    const tooLong = `the query took longer than ${this.#msMax / 1000} s`;
    const timer = setTimeout(() => end(new Error(tooLong)), this.#msMax);
    this.#running.add(end);
    try {
      return await Promise.race([query(controller.signal), ended]);
    } finally {
      clearTimeout(timer);
      this.#running.delete(end);
    }
  }

  /** Gives up all that run. */
  end(): void {
    for (const end of this.#running) end(new Error("the server is stopping"));
  }
}
