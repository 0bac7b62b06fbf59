/** GET /api/v1/query/tail: rows as they arrive, as server-sent events. How many there may be, and what is counted of them. */

import type { Signal, Step } from "../../engine/index.ts";
import { planRows, planWarnings, QueryError, queryKind, type RowsPlan } from "../../query/index.ts";
import type { Searchable } from "../access/searchable.ts";
import type { Reply, Route, ServerRequest } from "../api/route.ts";
import { Budget } from "../limits/byte-budget.ts";
import { Refusal, tryLater } from "../limits/refusal.ts";
import { Turnstile } from "../limits/semaphore.ts";
import type { Counter, Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import { timeMsMax } from "../model/limits.ts";
import { shown } from "../text/quote.ts";
import { suggestion } from "../text/suggestion.ts";
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
import { type ArrivalStore, TailLane, type TailSelection } from "./tail-feed.ts";
import { TailQueue } from "./tail-queue.ts";

export interface TailsOptions {
  /** The whole store: what a caller may read of it is in the steps. */
  store: ArrivalStore;
  /** The store as the caller sees it. */
  storeFor(caller: Caller): Searchable;
  /** The steps of a query as the caller sees the rows. */
  stepsFor(caller: Caller, signal: Signal, steps: readonly Step[]): Step[];
  metrics: Metrics;
  /** Of one read of the store. */
  deadlineMs: number;
  memoryBytes: number;
}

/** What a tail is asked for. */
interface TailAsked {
  query: string;
  /** Rows of this time or later, those that are stored too; null: rows that arrive from now on. */
  startMs: number | null;
  /** Arrival number of the last row that the reader has; null: it has none. */
  last: number | null;
}

const known = ["query", "startTime"];
const headers = {
  "Content-Type": "text/event-stream; charset=utf-8",
  // Proxies that gather answers would hold rows back.
  "X-Accel-Buffering": "no",
} as const;

export class Tails {
  readonly #options: TailsOptions;
  readonly #lanes: Record<TailSignal, TailLane>;
  /** With who reads them. */
  readonly #open = new Map<Tail, string>();
  readonly #waiting = new Budget(tailsBytesWaitingMax);
  readonly #reading = new Turnstile(tailPagesReadMax);
  readonly #sent: Counter;
  readonly #missed: Counter;
  readonly #checks: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: TailsOptions) {
    const { store, metrics, deadlineMs, memoryBytes } = options;
    const limits = { deadlineMs, memoryBytes };
    this.#options = options;
    this.#lanes = {
      logs: new TailLane({ store, signal: "logs", limits }),
      traces: new TailLane({ store, signal: "traces", limits }),
    };
    metrics.read("gauge", "svc_tails_open", "Tails that are being read.", () => this.#open.size);
    metrics.read("gauge", "svc_tail_lag_rows", "Arrived rows that tails have not looked at yet.", () => {
      return Math.max(this.#lanes.logs.lag, this.#lanes.traces.lag);
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
    this.#checks = setInterval(() => {
      for (const tail of this.#open.keys()) void tail.check();
    }, tailCheckMs);
    this.#checks.unref();
  }

  route(): Route {
    return {
      method: "GET",
      path: "/api/v1/query/tail",
      permission: "search",
      body: null,
      // Until the first event.
      deadlineMs: 10_000,
      answer: async (request) => this.#answer(request),
    };
  }

  /** Tells every reader that the server stops. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#checks);
    for (const tail of [...this.#open.keys()]) tail.end("stopping", "the server is stopping");
    for (const lane of Object.values(this.#lanes)) lane.close();
  }

  #answer(request: ServerRequest): Reply {
    if (this.#isClosed) throw tryLater("the server is stopping", 5);
    const asked = readAddress(request, this.#options.store.arrivalMax);
    const plan = planOf(asked.query);
    const { tokenId, user, name } = request.caller;
    const reader = tokenId ?? user?.subject ?? name;
    this.#checkRoom(reader);
    const tail = this.#tailOf(request, asked, plan);
    this.#open.set(tail, reader);
    request.signal.addEventListener("abort", () => tail.leave(), { once: true });
    return {
      status: 200,
      headers,
      body: tail.events(),
      stream: { heartbeat: () => tail.heartbeat(), heartbeatMs: tailHeartbeatMs, ending: tail.ending },
      onEnd: () => {
        tail.leave();
        this.#open.delete(tail);
      },
    };
  }

  /** Throws Refusal 429. */
  #checkRoom(reader: string): void {
    const own = [...this.#open.values()].filter((each) => each === reader).length;
    if (own < tailsOfCallerMax && this.#open.size < tailsMax) return;
    const whose =
      own < tailsOfCallerMax ? `${tailsMax} tails are` : `${tailsOfCallerMax} tails of this token are`;
    throw new Refusal(429, `${whose} open; close one, or try again`, { headers: { "Retry-After": "5" } });
  }

  #tailOf(request: ServerRequest, { startMs, last }: TailAsked, plan: RowsPlan): Tail {
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
      warnings: planWarnings(storeFor(request.caller), plan, 0n, endOfTimeNs),
      store,
      lane: this.#lanes[signal],
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
function planOf(query: string): RowsPlan {
  try {
    return planRows(queryKind(query) === "spans" ? "traces" : "logs", query);
  } catch (error) {
    if (error instanceof QueryError) throw new Refusal(400, error.message);
    throw error;
  }
}

/** Throws Refusal 400 naming the part of the address, or the header. */
function readAddress({ query, headers: sent }: ServerRequest, arrivalMax: number): TailAsked {
  for (const name of query.keys()) {
    if (known.includes(name)) continue;
    throw new Refusal(400, `unknown query parameter ${JSON.stringify(name)}${suggestion(name, known)}`);
  }
  const text = query.get("query");
  if (text === null) throw new Refusal(400, "query is required: svcQL or search terms; empty for every log");
  const start = query.get("startTime");
  const startMs = start === null ? null : wholeNumber(start);
  if (startMs !== null && !(startMs <= timeMsMax)) {
    throw new Refusal(400, `startTime must be an integer, Unix time in milliseconds, got ${shown(start)}`);
  }
  const id = sent.get("last-event-id");
  const last = id === undefined || id === "" ? null : wholeNumber(id);
  if (last !== null && !(last <= arrivalMax)) {
    throw new Refusal(400, `Last-Event-ID must be the id of an event of this server's, got ${shown(id)}`);
  }
  return { query: text, startMs, last };
}

/** NaN where the text is none. */
function wholeNumber(text: string): number {
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
}
