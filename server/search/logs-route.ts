/** POST /api/v1/query/logs, as the interface specification has it in sections 2.4 and 4. */

import { performance } from "node:perf_hooks";
import type { FoundRow, Store } from "../../engine/index.ts";
import { QueryError, searchLogs } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, stringField } from "../fields.ts";
import { jsonBody, parseJsonBody } from "../json-body.ts";
import { searchesInFlightMax, timeMsMax } from "../limits.ts";
import type { Counter, Histogram, Metrics } from "../metrics.ts";
import type { Reply, Route, ServerRequest } from "../route.ts";
import { jsonHeaders, Refusal } from "../route.ts";
import { entryText } from "./log-entry.ts";

export interface SearchOptions {
  store: Store;
  metrics: Metrics;
  /** A search that takes longer is given up with 503. */
  deadlineMs: number;
  /** Memory that one search may hold. */
  memoryBytes: number;
}

interface LogQuery {
  query: string;
  startMs: number;
  /** Inclusive: the whole millisecond. */
  endMs: number;
  limit: number;
  cursor?: string;
}

interface State extends SearchOptions {
  inFlight: number;
  queries: Counter;
  seconds: Histogram;
}

const limitDefault = 100;
const limitRange = { min: 1, max: 1_000, expected: "an integer from 1 to 1000" };
const timeRange = { min: 0, max: timeMsMax, expected: "an integer, Unix time in milliseconds" };
/** The engine keeps to its deadline by itself; this is for the case that it does not answer at all. */
const deadlineSlackMs = 10_000;
const secondsBounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Entries are written in pieces of about this size, so that a huge answer is never one string. */
const pieceLength = 256 * 1024;

export function queryLogsRoute(options: SearchOptions): Route {
  const { metrics } = options;
  const state: State = {
    ...options,
    inFlight: 0,
    queries: metrics.counter("svc_queries_total", "Searches ended, by how they ended."),
    seconds: metrics.histogram("svc_query_seconds", "Duration of searches.", secondsBounds),
  };
  metrics.read("gauge", "svc_queries_in_flight", "Searches running or being read.", () => state.inFlight);
  return {
    method: "POST",
    path: "/api/v1/query/logs",
    permission: "search",
    body: jsonBody,
    deadlineMs: options.deadlineMs + deadlineSlackMs,
    answer: (request) => queryLogs(state, request),
  };
}

async function queryLogs(state: State, request: ServerRequest): Promise<Reply> {
  const query = readLogQuery(parseJsonBody(request));
  if (state.inFlight >= searchesInFlightMax) {
    throw new Refusal(429, `${searchesInFlightMax} searches are running; try again`, {
      headers: { "Retry-After": "1" },
    });
  }
  state.inFlight++;
  const onEnd = () => {
    state.inFlight--;
  };
  try {
    const reply = await timed(state, () => search(state, query, request.signal));
    return { ...reply, onEnd };
  } catch (error) {
    onEnd();
    throw error;
  }
}

async function timed<T>(state: State, run: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  let outcome = "failed";
  try {
    const result = await run();
    outcome = "answered";
    return result;
  } finally {
    state.queries.add(1, { outcome });
    state.seconds.observe((performance.now() - startedMs) / 1000);
  }
}

async function search(state: State, query: LogQuery, abort: AbortSignal): Promise<Reply> {
  const { deadlineMs, memoryBytes, store } = state;
  try {
    const { rows, cursor, warnings } = await searchLogs(store, query, { deadlineMs, memoryBytes, abort });
    return { status: 200, headers: jsonHeaders, body: resultPieces(rows, tailOf(cursor, warnings)) };
  } catch (error) {
    if (error instanceof QueryError) throw new Refusal(400, error.message);
    throw error;
  }
}

/** Throws Refusal 400 naming the field. */
function readLogQuery(body: unknown): LogQuery {
  const fields = fieldsOf(body, "", ["query", "startTime", "endTime", "limit", "cursor"]);
  const query = stringField(fields, "query", "a string, svcQL or search terms");
  const startMs = integerField(fields, "startTime", timeRange);
  const endMs = integerField(fields, "endTime", timeRange);
  if (startMs > endMs)
    throw new Refusal(400, `startTime must not be after endTime, got ${startMs} and ${endMs}`);
  const limit = isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault;
  if (!isGiven(fields, "cursor")) return { query, startMs, endMs, limit };
  const cursor = stringField(fields, "cursor", "a string, the cursor of an earlier answer");
  return { query, startMs, endMs, limit, cursor };
}

/** What stands behind the entries: `cursor` where there is more, `warnings` where there are any. */
function tailOf(cursor: string | undefined, warnings: readonly string[]): string {
  const tail = {
    ...(cursor === undefined ? {} : { cursor }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
  const members = JSON.stringify(tail).slice(1, -1);
  return members === "" ? "]}\n" : `],${members}}\n`;
}

/** The answer as JSON; small ones are one piece. */
function resultPieces(rows: readonly FoundRow[], tail: string): string | Iterable<Uint8Array> {
  const pieces = jsonPieces(rows, tail);
  const first = pieces.next();
  const second = pieces.next();
  if (second.done) return first.value ?? "";
  return encoded([first.value ?? "", second.value], pieces);
}

function* jsonPieces(rows: readonly FoundRow[], tail: string): Generator<string, undefined> {
  let piece = `{"count":${rows.length},"logs":[`;
  for (const [i, row] of rows.entries()) {
    piece += `${i === 0 ? "" : ","}${entryText(row)}`;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield piece + tail;
}

function* encoded(before: readonly string[], rest: Iterable<string>): Generator<Uint8Array> {
  for (const piece of before) yield Buffer.from(piece);
  for (const piece of rest) yield Buffer.from(piece);
}
