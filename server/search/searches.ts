/** What all searches share: how many may run, how long, and what is counted of them. */

import { performance } from "node:perf_hooks";
import type { QueryLimits } from "../../engine/index.ts";
import { QueryError } from "../../query/index.ts";
import type { Searchable } from "../access/searchable.ts";
import { type Fields, integerField, isGiven, stringField } from "../api/fields.ts";
import { jsonBody, parseJsonBody } from "../api/json-body.ts";
import type { Reply, Route, ServerRequest } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Counter, Histogram, Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import { timeMsMax } from "../model/limits.ts";
import { searchesInFlightMax } from "./limits.ts";

export interface SearchOptions {
  /** The store as the caller sees it. */
  storeFor(caller: Caller): Searchable;
  metrics: Metrics;
  /** A search that takes longer is given up with 503. */
  deadlineMs: number;
  /** Memory that one search may hold. */
  memoryBytes: number;
}

/** One kind of search, asked for by a JSON body. */
export interface SearchKind<Query> extends Answering<Query> {
  path: string;
  /** Throws Refusal 400 naming the field. */
  read(body: unknown): Query;
}

/** One kind of search, asked for by its address. */
export interface AddressedSearch<Query> extends Answering<Query> {
  path: string;
  /** Throws Refusal 400 naming the part of the address. */
  readAddress(params: ServerRequest["params"], query: URLSearchParams): Query;
}

interface Answering<Query> {
  answer(store: Searchable, query: Query, limits: QueryLimits): Promise<Reply>;
}

const timeRange = { min: 0, max: timeMsMax, expected: "an integer, Unix time in milliseconds" };
/** What names and values begin with: nobody types more. */
const optionalTextMax = 1_024;
/** The engine keeps to its deadline by itself; this is for the case that it does not answer at all. */
const deadlineSlackMs = 10_000;
const secondsBounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Searches {
  readonly #options: SearchOptions;
  readonly #queries: Counter;
  readonly #seconds: Histogram;
  readonly #ending = new AbortController();
  #inFlight = 0;

  constructor(options: SearchOptions) {
    const { metrics } = options;
    this.#options = options;
    this.#queries = metrics.counter("svc_queries_total", "Searches ended, by how they ended.");
    this.#seconds = metrics.histogram("svc_query_seconds", "Duration of searches.", secondsBounds);
    const inFlight = () => this.#inFlight;
    metrics.read("gauge", "svc_queries_in_flight", "Searches running or being read.", inFlight);
  }

  /** The server is stopping: searches that run are given up, what is stored meanwhile ends as it would. */
  end(): void {
    this.#ending.abort(new Refusal(503, "the server is stopping", { headers: { "Retry-After": "5" } }));
  }

  route<Query>(kind: SearchKind<Query>): Route {
    return {
      method: "POST",
      path: kind.path,
      permission: "search",
      body: jsonBody,
      deadlineMs: this.#options.deadlineMs + deadlineSlackMs,
      answer: (request) => this.#answer(kind, () => kind.read(parseJsonBody(request)), request),
    };
  }

  addressedRoute<Query>(kind: AddressedSearch<Query>): Route {
    return {
      method: "GET",
      path: kind.path,
      permission: "search",
      body: null,
      deadlineMs: this.#options.deadlineMs + deadlineSlackMs,
      answer: (request) => {
        const read = () => kind.readAddress(request.params, request.query);
        return this.#answer(kind, read, request);
      },
    };
  }

  async #answer<Query>(
    kind: Answering<Query>,
    read: () => Query,
    { caller, signal: abort }: ServerRequest,
  ): Promise<Reply> {
    const query = read();
    if (this.#inFlight >= searchesInFlightMax) {
      throw new Refusal(429, `${searchesInFlightMax} searches are running; try again`, {
        headers: { "Retry-After": "1" },
      });
    }
    this.#inFlight++;
    const onEnd = () => {
      this.#inFlight--;
    };
    try {
      const { deadlineMs, memoryBytes } = this.#options;
      const store = this.#options.storeFor(caller);
      const limits = { deadlineMs, memoryBytes, abort: AbortSignal.any([abort, this.#ending.signal]) };
      const reply = await this.#timed(() => kind.answer(store, query, limits));
      return { ...reply, onEnd };
    } catch (error) {
      onEnd();
      if (error instanceof QueryError) throw new Refusal(400, error.message);
      throw this.#ending.signal.aborted ? (this.#ending.signal.reason as Refusal) : error;
    }
  }

  async #timed<T>(run: () => Promise<T>): Promise<T> {
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

/** `startTime` and `endTime`, both inclusive. Throws Refusal 400. */
export function rangeFields(fields: Fields): { startMs: number; endMs: number } {
  const startMs = integerField(fields, "startTime", timeRange);
  const endMs = integerField(fields, "endTime", timeRange);
  if (startMs > endMs)
    throw new Refusal(400, `startTime must not be after endTime, got ${startMs} and ${endMs}`);
  return { startMs, endMs };
}

/** "" where the field was not given. Throws Refusal 400. */
export function optionalText(fields: Fields, name: string): string {
  const text = isGiven(fields, name) ? stringField(fields, name) : "";
  if (text.length <= optionalTextMax || name === "query") return text;
  throw new Refusal(400, `${name} must have ${optionalTextMax} characters at most, got ${text.length}`);
}
