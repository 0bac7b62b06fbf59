/** Runs searches: bounds how many run and for how long, and counts them in metrics. */

import { performance } from "node:perf_hooks";
import type { QueryLimits } from "../../engine/index.ts";
import { QueryError } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import { Reply } from "../api/route.ts";
import type { Counter, Histogram, Metrics } from "../metrics/metrics.ts";
import { type Caller, rateLimitKeyOf } from "../model/caller.ts";
import { refusalOfQuery } from "../model/query-refusal.ts";
import { joinSignals } from "../throttle/joined-signal.ts";
import { type Refusal, tryLater } from "../throttle/refusal.ts";
import { SharedBudget } from "../throttle/shared-budget.ts";
import { searchesInFlightMax } from "./limits.ts";

export interface SearchOptions {
  /** Returns the store within the caller's authorization scope. */
  storeFor(caller: Caller): SearchableStore;
  metrics: Metrics;
  /** A search, or one read of a tail, that takes longer is ended: a search with 503. */
  deadlineMs: number;
  /** Memory that one search, or one read of a tail, may hold. */
  memoryBytes: number;
}

/** The engine ends a search at its deadline. The route waits this much longer, in case the engine does not answer. */
const deadlineSlackMs = 10_000;
const secondsBounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** All searches of a server. */
export class Searches {
  readonly #options: SearchOptions;
  readonly #queries: Counter;
  readonly #seconds: Histogram;
  readonly #stopping = new AbortController();
  /** Places of searches, by caller. */
  readonly #places = new SharedBudget(searchesInFlightMax);

  constructor(options: SearchOptions) {
    const { metrics } = options;
    this.#options = options;
    this.#queries = metrics.counter("svc_queries_total", "Searches ended, by how they ended.");
    this.#seconds = metrics.histogram("svc_query_seconds", "Duration of searches.", secondsBounds);
    const inFlight = () => this.#places.total;
    metrics.gauge("svc_queries_in_flight", "Searches running or being read.", inFlight);
  }

  /** Aborts the searches that run, with 503, because the server stops. */
  end(): void {
    this.#stopping.abort(tryLater("the server is stopping", 5));
  }

  /** The members that all routes of searches share. */
  get shared() {
    return {
      permission: "search",
      tag: "queries",
      deadlineMs: this.#options.deadlineMs + deadlineSlackMs,
      errors: [429],
    } as const;
  }

  /** The store within the caller's authorization scope. */
  storeFor(caller: Caller): SearchableStore {
    return this.#options.storeFor(caller);
  }

  /**
   * Runs a search over what the caller may read; it counts as running until its answer is written. Throws Refusal 429
   * where the caller has as many searches running as it leaves places for others, 400 for an error of the query language, and 503 when the server stops.
   */
  async run(
    { caller, signal: abort }: { caller: Caller; signal: AbortSignal },
    search: (store: SearchableStore, limits: QueryLimits) => Promise<Reply>,
  ): Promise<Reply> {
    const place = this.#places.of(rateLimitKeyOf(caller));
    if (!place.take(1)) {
      const problem = `${this.#places.total} searches are running, and the other places are for other callers`;
      throw tryLater(`${problem}; try again`, 1, 429);
    }
    const joined = joinSignals(abort, this.#stopping.signal);
    const onEnd = () => {
      place.give(1);
      joined.leave();
    };
    try {
      const { deadlineMs, memoryBytes } = this.#options;
      const store = this.#options.storeFor(caller);
      const limits = { deadlineMs, memoryBytes, abort: joined.signal };
      const reply = await this.#measure(() => search(store, limits));
      return new Reply({ ...reply, onEnd });
    } catch (error) {
      onEnd();
      if (error instanceof QueryError) throw refusalOfQuery(error);
      throw this.#stopping.signal.aborted ? (this.#stopping.signal.reason as Refusal) : error;
    }
  }

  async #measure<T>(run: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    let outcome = "failed";
    try {
      const result = await run();
      outcome = "answered";
      return result;
    } finally {
      this.#queries.add(1, { outcome });
      this.#seconds.observe((performance.now() - startedMs) / 1000);
    }
  }
}
