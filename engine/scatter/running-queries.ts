import { timerMsMax } from "../limits.ts";
import { monotonicMs } from "../plan/query-control.ts";

/**
 * Queries that run now: garbage collection waits for them, since they may read chunks that no manifest names any more.
 */
export class RunningQueries {
  readonly #running = new Set<Promise<unknown>>();
  /** Ends each scan that has begun. */
  readonly #scanEnds = new Set<() => void>();

  /** Adds a query until it ends; returns it. */
  track<T>(query: Promise<T>): Promise<T> {
    this.#running.add(query);
    const forget = () => void this.#running.delete(query);
    query.then(forget, forget);
    return query;
  }

  /**
   * Adds a scan until the function that is returned is called, and until its deadline at most: whoever reads it may take no
   * further batch and never end it.
   */
  beginScan(deadlineAtMs: number): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.track(promise);
    const leftMs = deadlineAtMs - monotonicMs();
    const timer = leftMs > timerMsMax ? undefined : setTimeout(resolve, leftMs).unref();
    const end = () => {
      clearTimeout(timer);
      this.#scanEnds.delete(end);
      resolve();
    };
    this.#scanEnds.add(end);
    return end;
  }

  /** Ends the wait for all scans that have begun. */
  endScans(): void {
    for (const end of this.#scanEnds) end();
  }

  /** Resolves when every query that runs now has ended, however it ends. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running]);
  }
}
