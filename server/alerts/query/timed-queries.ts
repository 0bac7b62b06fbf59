/**
 * Runs queries with a time limit. A query that exceeds it is aborted, and its caller gets an error at once, even if the
 * query does not react to the abort.
 */
export class TimedQueries {
  readonly #msMax: number;
  /** One for each running query; it aborts the query. */
  readonly #running = new Set<(reason: Error) => void>();

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  async run<T>(query: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    let abort: (reason: Error) => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = (reason) => {
        controller.abort();
        reject(reason);
      };
    });
    const problem = `the query took longer than ${this.#msMax / 1000} s`;
    const timer = setTimeout(() => abort(new Error(problem)), this.#msMax);
    this.#running.add(abort);
    try {
      return await Promise.race([query(controller.signal), aborted]);
    } finally {
      clearTimeout(timer);
      this.#running.delete(abort);
    }
  }

  /** Aborts all running queries, as the server stops. */
  abortAll(): void {
    for (const abort of this.#running) abort(new Error("the server is stopping"));
  }
}
