/** GET /api/v1/query/tail: rows as they arrive, as server-sent events. How many there may be, and what is counted of them. */

import * as z from "zod";
import type { Signal, Step } from "../../engine/index.ts";
import {
  collectPlanWarnings,
  detectQueryKind,
  planSearch,
  QueryError,
  type SearchPlan,
} from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable.ts";
import { defineRoute } from "../api/define-route.ts";
import { Reply, type Route, type ServerRequest } from "../api/route.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { Refusal, tryLater } from "../limits/refusal.ts";
import { Semaphore } from "../limits/semaphore.ts";
import type { Counter, Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import { expects, timeMs } from "../model/schema.ts";
import { describeValue } from "../text/quote.ts";
import {
  tailCheckMs,
  tailHeartbeatMs,
  tailPagesReadMax,
  tailsBytesWaitingMax,
  tailsMax,
  tailsOfCallerMax,
} from "./limits.ts";
import { Tail } from "./tail.ts";
import type { TailSignal } from "./tail-events.ts";
import { type ArrivalStore, TailFeed, type TailSelection } from "./tail-feed.ts";
import { TailQueue } from "./tail-queue.ts";

export interface TailsOptions {
  /** The whole store: what a caller may read of it is in the steps. */
  store: ArrivalStore;
  /** The store as the caller sees it. */
  storeFor(caller: Caller): SearchableStore;
  /** The steps of a query as the caller sees the rows. */
  stepsFor(caller: Caller, signal: Signal, steps: readonly Step[]): Step[];
  metrics: Metrics;
  /** Of one read of the store. */
  deadlineMs: number;
  memoryBytes: number;
}

/** What a tail is asked for. */
interface TailAsked {
  /** Rows of this time or later, those that are stored too; null: rows that arrive from now on. */
  startMs: number | null;
  /** Arrival number of the last row that the reader has; null: it has none. */
  last: number | null;
}

const headers = {
  "Content-Type": "text/event-stream; charset=utf-8",
  // Proxies that gather answers would hold rows back.
  "X-Accel-Buffering": "no",
} as const;

export class Tails {
  readonly #options: TailsOptions;
  readonly #feeds: Record<TailSignal, TailFeed>;
  /** With who reads them. */
  readonly #tails = new Map<Tail, string>();
  readonly #waiting = new ByteBudget(tailsBytesWaitingMax);
  readonly #reading = new Semaphore(tailPagesReadMax);
  readonly #sent: Counter;
  readonly #missed: Counter;
  #checks: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: TailsOptions) {
    const { store, metrics, deadlineMs, memoryBytes } = options;
    const limits = { deadlineMs, memoryBytes };
    this.#options = options;
    this.#feeds = {
      logs: new TailFeed({ store, signal: "logs", limits }),
      traces: new TailFeed({ store, signal: "traces", limits }),
    };
    metrics.read("gauge", "svc_tails_open", "Tails that are being read.", () => this.#tails.size);
    metrics.read("gauge", "svc_tail_lag_rows", "Arrived rows that tails have not looked at yet.", () => {
      return Math.max(this.#feeds.logs.lag, this.#feeds.traces.lag);
    });
    metrics.read("gauge", "svc_tail_waiting_bytes", "Bytes of rows that wait for readers of tails.", () => {
      return this.#waiting.bytesHeld;
    });
    this.#sent = metrics.counter("svc_tail_rows_sent_total", "Rows written to readers of tails.");
    this.#missed = metrics.counter(
      "svc_tail_rows_missed_total",
      "Rows that readers of tails were too slow for.",
    );
    for (const counter of [this.#sent, this.#missed]) counter.add(0);
  }

  /** Checks from time to time whether readers may still read. */
  run(): void {
    this.#checks = setInterval(() => {
      for (const tail of this.#tails.keys()) void tail.check();
    }, tailCheckMs);
    this.#checks.unref();
  }

  route(): Route {
    return defineRoute({
      method: "GET",
      path: "/api/v1/query/tail",
      permission: "search",
      summary: "Sends logs or spans as they arrive, as server-sent events",
      tag: "queries",
      query: {
        query: z.string(expects("svcQL or search terms; empty for every log")),
        startTime: timeMs.optional(),
      },
      headers: { "Last-Event-ID": z.string().optional() },
      response: z.string(),
      contentType: "text/event-stream",
      errors: [429],
      handle: async ({ query, headers, request }) => {
        const last = arrivalOf(headers["Last-Event-ID"], this.#options.store.arrivalMax);
        return this.#open(request, query.query, { startMs: query.startTime ?? null, last });
      },
    });
  }

  /** Tells every reader that the server stops. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#checks);
    for (const tail of [...this.#tails.keys()]) tail.end("stopping", "the server is stopping");
    for (const feed of Object.values(this.#feeds)) feed.close();
  }

  #open(request: ServerRequest, query: string, asked: TailAsked): Reply {
    if (this.#isClosed) throw tryLater("the server is stopping", 5);
    const plan = planOf(query);
    const { tokenId, user, name } = request.caller;
    const reader = tokenId ?? user?.subject ?? name;
    this.#checkRoom(reader);
    const tail = this.#tailOf(request, asked, plan);
    this.#tails.set(tail, reader);
    request.signal.addEventListener("abort", () => tail.leave(), { once: true });
    return new Reply({
      status: 200,
      headers,
      body: tail.events(),
      stream: { heartbeat: () => tail.heartbeat(), heartbeatMs: tailHeartbeatMs, ending: tail.ending },
      onEnd: () => {
        tail.leave();
        this.#tails.delete(tail);
      },
    });
  }

  /** Throws Refusal 429. */
  #checkRoom(reader: string): void {
    const own = [...this.#tails.values()].filter((each) => each === reader).length;
    if (own < tailsOfCallerMax && this.#tails.size < tailsMax) return;
    const whose =
      own < tailsOfCallerMax ? `${tailsMax} tails are` : `${tailsOfCallerMax} tails of this token are`;
    throw new Refusal(429, `${whose} open; close one, or try again`, { headers: { "Retry-After": "5" } });
  }

  #tailOf(request: ServerRequest, { startMs, last }: TailAsked, plan: SearchPlan): Tail {
    const { store, stepsFor, storeFor, deadlineMs, memoryBytes } = this.#options;
    const signal = plan.signal as TailSignal;
    const fromNs = startMs === null ? 0n : BigInt(startMs) * 1_000_000n;
    const selectionFor = (caller: Caller): TailSelection => {
      const steps = stepsFor(caller, signal, plan.steps);
      return { signal, fromNs, steps, key: JSON.stringify([String(fromNs), steps]) };
    };
    const selection = selectionFor(request.caller);
    return new Tail({
      selection,
      after: last ?? (startMs === null ? store.arrivalMax : 0),
      warnings: collectPlanWarnings(storeFor(request.caller), plan, 0n, endOfTimeNs),
      store,
      feed: this.#feeds[signal],
      queue: new TailQueue(this.#waiting, (rows) => this.#missed.add(rows)),
      reading: this.#reading,
      limits: { deadlineMs, memoryBytes },
      problem: () => problemOf(request, (caller) => selectionFor(caller).key === selection.key),
      onSent: (rows) => this.#sent.add(rows),
    });
  }
}

const endOfTimeNs = 2n ** 63n - 1n;

/** Why the reader may not go on, as far as `isSame` says whether it may read the same rows still. */
async function problemOf(
  request: ServerRequest,
  isSame: (caller: Caller) => boolean,
): Promise<string | null> {
  try {
    return isSame(await request.readmit()) ? null : "what the token may read has changed";
  } catch (error) {
    if (!(error instanceof Refusal)) return "an internal error";
    // Where it cannot be asked just now, what was known holds.
    return error.status === 401 || error.status === 403 ? error.message : null;
  }
}

/** Throws Refusal 400 as a search does. */
function planOf(query: string): SearchPlan {
  try {
    return planSearch(detectQueryKind(query) === "spans" ? "traces" : "logs", query);
  } catch (error) {
    if (error instanceof QueryError) throw new Refusal(400, error.message);
    throw error;
  }
}

/** The arrival number of the last event that the reader has; null where it has none. Throws Refusal 400. */
function arrivalOf(id: string | undefined, arrivalMax: number): number | null {
  if (id === undefined || id === "") return null;
  const last = /^\d{1,16}$/.test(id) ? Number(id) : Number.NaN;
  if (last <= arrivalMax) return last;
  throw new Refusal(
    400,
    `Last-Event-ID must be the id of an event of this server's, got ${describeValue(id)}`,
  );
}
