/**
 * Queries that run now: garbage collection waits for them, since they may read chunks that no manifest names any more.
 */
export class RunningQueries {
  readonly #running = new Set<Promise<unknown>>();

  /** Adds a query until it ends; returns it. */
  track<T>(query: Promise<T>): Promise<T> {
    this.#running.add(query);
    const forget = () => void this.#running.delete(query);
    query.then(forget, forget);
    return query;
  }

  /** Resolves when every query that runs now has ended, however it ends. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running]);
  }
}
