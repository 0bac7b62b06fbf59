/** GET /api/v1/query/tail: rows as server-sent events while they arrive. Bounds and counts the open tails. */

import * as z from "zod";
import type { Signal, Step } from "../../../engine/index.ts";
import {
  collectPlanWarnings,
  detectQueryKind,
  isOrderedStep,
  planSearch,
  QueryError,
  type SearchPlan,
} from "../../../query/index.ts";
import { defineRoute } from "../../api/define-route.ts";
import { Reply, type Route, type ServerRequest } from "../../api/route.ts";
import type { Counter } from "../../metrics/metrics.ts";
import type { Caller } from "../../model/caller.ts";
import { expects, timeMs } from "../../model/schema.ts";
import { describeValue } from "../../text/quote.ts";
import { Refusal, tryLater } from "../../throttle/refusal.ts";
import { Semaphore } from "../../throttle/semaphore.ts";
import { SharedBudget } from "../../throttle/shared-budget.ts";
import { tailCheckMs, tailHeartbeatMs, tailPagesReadMax, tailsMax, tailsOfCallerMax } from "../limits.ts";
import type { SearchOptions } from "../searches.ts";
import { Tail } from "./tail.ts";
import type { TailSignal } from "./tail-events.ts";
import { type ArrivalStore, TailFeed, type TailSelection } from "./tail-feed.ts";
import { TailQueue } from "./tail-queue.ts";

/** What the tails of a server need. */
export interface TailsOptions extends SearchOptions {
  /** Bytes of rows in the queues of all tails together. */
  waitingBytesMax: number;
  /** The whole store; the steps of a tail hold the row-level filter of its caller. */
  store: ArrivalStore;
  /** Adds the row-level filter of the caller to the steps of a query. */
  stepsFor(caller: Caller, signal: Signal, steps: readonly Step[]): Step[];
}

/** Where a tail begins. */
interface TailStart {
  /** Selects rows of this time or later, stored ones included; null: only rows that arrive from now on. */
  startMs: number | null;
  /** Arrival number of the last event that the reader has; null: it has none. */
  lastArrival: number | null;
}

const headers = {
  "Content-Type": "text/event-stream; charset=utf-8",
  // nginx would buffer the rows otherwise.
  "X-Accel-Buffering": "no",
} as const;

/** All tails of a server. */
export class Tails {
  readonly #options: TailsOptions;
  readonly #feeds: Record<TailSignal, TailFeed>;
  /** Open tails, each with the identity of its caller. */
  readonly #tails = new Map<Tail, string>();
  readonly #queueBudget: SharedBudget;
  readonly #pageReads = new Semaphore(tailPagesReadMax);
  readonly #sent: Counter;
  readonly #missed: Counter;
  #checkTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: TailsOptions) {
    const { store, metrics, deadlineMs, memoryBytes } = options;
    const limits = { deadlineMs, memoryBytes };
    this.#options = options;
    this.#queueBudget = new SharedBudget(options.waitingBytesMax);
    this.#feeds = {
      logs: new TailFeed({ store, signal: "logs", limits }),
      traces: new TailFeed({ store, signal: "traces", limits }),
    };
    metrics.gauge("svc_tails_open", "Tails that are being read.", () => this.#tails.size);
    metrics.gauge("svc_tail_lag_rows", "Arrived rows that tails have not looked at yet.", () => {
      return Math.max(this.#feeds.logs.lag, this.#feeds.traces.lag);
    });
    metrics.gauge("svc_tail_waiting_bytes", "Bytes of rows that wait for readers of tails.", () => {
      return this.#queueBudget.total;
    });
    this.#sent = metrics.counter("svc_tail_rows_sent_total", "Rows written to readers of tails.");
    this.#missed = metrics.counter(
      "svc_tail_rows_missed_total",
      "Rows that readers of tails were too slow for.",
    );
    for (const counter of [this.#sent, this.#missed]) counter.add(0);
  }

  /** Begins to check every `tailCheckMs` that the callers of open tails may still read. */
  run(): void {
    this.#checkTimer = setInterval(() => {
      for (const tail of this.#tails.keys()) void tail.check();
    }, tailCheckMs);
    this.#checkTimer.unref();
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
        const lastArrival = parseLastEventId(headers["Last-Event-ID"], this.#options.store.arrivalMax);
        return this.#open(request, query.query, { startMs: query.startTime ?? null, lastArrival });
      },
    });
  }

  /** Ends every tail with an `end` event, and the feeds. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#checkTimer);
    for (const tail of [...this.#tails.keys()]) tail.end("stopping", "the server is stopping");
    for (const feed of Object.values(this.#feeds)) feed.close();
  }

  #open(request: ServerRequest, query: string, start: TailStart): Reply {
    if (this.#isClosed) throw tryLater("the server is stopping", 5);
    const plan = makePlan(query);
    const { tokenId, user, name } = request.caller;
    const reader = tokenId ?? user?.subject ?? name;
    this.#checkTailCount(reader);
    const tail = this.#makeTail(request, reader, start, plan);
    this.#tails.set(tail, reader);
    request.signal.addEventListener("abort", () => tail.release(), { once: true });
    return new Reply({
      status: 200,
      headers,
      body: tail.events(),
      stream: { heartbeat: () => tail.heartbeat(), heartbeatMs: tailHeartbeatMs, ending: tail.ending },
      onEnd: () => {
        tail.release();
        this.#tails.delete(tail);
      },
    });
  }

  /** Throws Refusal 429 where the caller, or all callers together, have as many tails open as they may. */
  #checkTailCount(reader: string): void {
    const own = [...this.#tails.values()].filter((each) => each === reader).length;
    if (own < tailsOfCallerMax && this.#tails.size < tailsMax) return;
    const whose =
      own < tailsOfCallerMax ? `${tailsMax} tails are` : `${tailsOfCallerMax} tails of this token are`;
    throw tryLater(`${whose} open; close one, or try again`, 5, 429);
  }

  #makeTail(
    request: ServerRequest,
    reader: string,
    { startMs, lastArrival }: TailStart,
    plan: TailPlan,
  ): Tail {
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
      after: lastArrival ?? (startMs === null ? store.arrivalMax : 0),
      warnings: collectPlanWarnings(storeFor(request.caller), plan, { fromNs: 0n, toNs: endOfTimeNs }),
      store,
      feed: this.#feeds[signal],
      queue: new TailQueue(this.#queueBudget.of(reader), (rows) => this.#missed.add(rows)),
      pageReads: this.#pageReads,
      limits: { deadlineMs, memoryBytes },
      findProblem: () => findProblem(request, (caller) => selectionFor(caller).key === selection.key),
      onSent: (rows) => this.#sent.add(rows),
    });
  }
}

const endOfTimeNs = 2n ** 63n - 1n;

/** Returns why the caller may not go on, null where it may. `isSame` says whether it may still read the same rows. */
async function findProblem(
  request: ServerRequest,
  isSame: (caller: Caller) => boolean,
): Promise<string | null> {
  try {
    return isSame(await request.readmit()) ? null : "what the token may read has changed";
  } catch (error) {
    if (!(error instanceof Refusal)) return "an internal error";
    // Where the caller cannot be checked just now, the last answer holds.
    return error.status === 401 || error.status === 403 ? error.message : null;
  }
}

/** A plan whose steps look at one row at a time. */
type TailPlan = SearchPlan & { steps: Step[] };

/** Throws Refusal 400 for an error of the query language, as a search does, and for stages over several rows. */
function makePlan(query: string): TailPlan {
  let plan: SearchPlan;
  try {
    plan = planSearch(detectQueryKind(query) === "spans" ? "traces" : "logs", query);
  } catch (error) {
    if (error instanceof QueryError) throw new Refusal(400, error.message);
    throw error;
  }
  const steps = plan.steps.flatMap((step) => (isOrderedStep(step) ? [] : [step]));
  if (steps.length === plan.steps.length) return { ...plan, steps };
  throw new Refusal(400, "a tail takes each row as it arrives; a stage over several rows needs a search");
}

/** Returns the arrival number in Last-Event-ID; null where there is none. Throws Refusal 400. */
function parseLastEventId(id: string | undefined, arrivalMax: number): number | null {
  if (id === undefined || id === "") return null;
  const last = /^\d{1,16}$/.test(id) ? Number(id) : Number.NaN;
  if (last <= arrivalMax) return last;
  throw new Refusal(
    400,
    `Last-Event-ID must be the id of an event of this server's, got ${describeValue(id)}`,
  );
}
