/**
 * Answers the requests of one transport (HTTP, gRPC): admission, bodies, deadlines, routes, answers, and the end of a
 * server that stops.
 */

import { timerMsMax } from "../../engine/index.ts";
import type { AccessRules } from "../access/authentication.ts";
import { checkPermission, identify, presumeCaller } from "../access/authentication.ts";
import type { BodyParts, ErrorBody, Reply, Route, ServerRequest } from "../api/route.ts";
import type { RefusedRequest } from "../control/audit.ts";
import type { Counter } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import { rateLimitKeyOf } from "../model/caller.ts";
import { RateLimiter } from "../throttle/rate-limiter.ts";
import { Refusal, tryLater } from "../throttle/refusal.ts";
import type { Budget, SharedBudget } from "../throttle/shared-budget.ts";
import { addressText, networkOf } from "./address.ts";
import type { BodyReading } from "./body-receiver.ts";
import { compressReply } from "./compression.ts";
import { errorReplyOf, securityHeaders } from "./error-reply.ts";
import type { Head } from "./exchange.ts";
import { announcedBytes } from "./exchange.ts";
import { headBytesMax, requestsBurstMax, requestsInFlightMax, requestsPerSecondMax } from "./limits.ts";
import type { RequestBounds } from "./request-bounds.ts";
import type { Match, Router } from "./router.ts";
import { makeRouter, matchRoute } from "./router.ts";

/** A request's body and its answer, on a connection of any transport. */
export interface RequestExchange {
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  readonly signal: AbortSignal;
  /** The connection is lost: nothing can be sent any more. */
  readonly gone: boolean;
  abort(reason: Error): void;
  /** Gives the body's bytes back to the budget; may be called twice. */
  release(): void;
  /**
   * Reads the body. Of one that is taken in parts, resolves to what no part has taken. Throws Refusal 413 above
   * `bytesMax`, 503 where the budget is spent, 408 where it takes too long.
   */
  readBody(reading: BodyReading): Promise<Uint8Array>;
  /** Resolves when the answer is handed over, or the client is gone. */
  send(reply: Reply, options: { withoutBody: boolean; closing: boolean }): Promise<void>;
}

export interface TransportOptions {
  routes: readonly Route[];
  access: AccessRules;
  bounds: RequestBounds;
  /** Counts the answers, by route and status. */
  requests: Counter;
  /** The name of a status in metrics. */
  nameStatus: (status: number) => string;
  /** Writes errors; without it the route does, or else they are `{ "error": … }`. */
  errorBody?: (error: Refusal) => ErrorBody;
  /** Called for requests that were refused with 401, 403 or 429. */
  onRefused: (request: RefusedRequest) => void;
  log: (message: string) => void;
}

export interface Transport {
  /** Requests that are being answered. */
  readonly inFlight: ReadonlySet<RequestExchange>;
  /** Answers a request. Never rejects. */
  serve(head: Head, exchange: RequestExchange): Promise<void>;
  /** Takes no more requests, lets those in flight finish within `drainMs`, and then aborts the others. */
  drain(drainMs: number): Promise<void>;
}

interface State {
  router: Router;
  options: TransportOptions;
  bounds: RequestBounds;
  inFlight: Set<RequestExchange>;
  draining: boolean;
  /** Called when no request is in flight any more. */
  onIdle: (() => void) | null;
  /** Limits the requests of each caller. */
  rate: RateLimiter;
}

export function makeTransport(options: TransportOptions): Transport {
  const state: State = {
    router: makeRouter(options.routes),
    options,
    bounds: options.bounds,
    inFlight: new Set(),
    draining: false,
    onIdle: null,
    rate: new RateLimiter({
      perSecond: requestsPerSecondMax,
      burst: requestsBurstMax,
      what: "requests",
      elapsed: () => performance.now(),
    }),
  };
  return {
    inFlight: state.inFlight,
    serve: (head, exchange) => handle(state, head, exchange),
    drain: async (drainMs) => {
      state.draining = true;
      await waitUntilIdle(state, drainMs);
      for (const exchange of state.inFlight) exchange.abort(tryLater("the server is stopping", 1));
    },
  };
}

/** Never rejects: every error becomes an answer, or a line in the log where it is too late for one. */
async function handle(state: State, head: Head, exchange: RequestExchange): Promise<void> {
  state.inFlight.add(exchange);
  let route: Route | undefined;
  let reply: Reply;
  const requester: Requester = { by: presumeCaller(head), place: undefined };
  try {
    checkHead(head);
    const match = findRoute(state, head);
    route = match.route;
    reply = await answer(state, head, exchange, match, requester);
    if (reply.refusal !== undefined) {
      countFailure(state, head, reply.refusal);
      reportRefusal(state.options, head, route.path, requester.by, reply.refusal);
    }
  } catch (error) {
    reply = errorReplyOf(error, state.options.log, findErrorWriter(state.options, route, head));
    reportRefusal(state.options, head, route?.path ?? "none", requester.by, error);
  }
  exchange.release();
  try {
    const isHead = head.method === "HEAD";
    const packed = isHead ? reply : await compressReply(reply, head.headers.get("accept-encoding"));
    const headers = { ...securityHeaders, ...packed.headers };
    await exchange.send({ ...packed, headers }, { withoutBody: isHead, closing: state.draining });
  } catch (error) {
    errorReplyOf(error, state.options.log);
  }
  reply.onEnd?.();
  const status = exchange.gone ? "gone" : state.options.nameStatus(reply.status);
  state.options.requests.add(1, { route: route?.path ?? "none", status });
  requester.place?.give(1);
  state.inFlight.delete(exchange);
  if (state.inFlight.size === 0) state.onIdle?.();
}

function findErrorWriter({ errorBody }: TransportOptions, route: Route | undefined, { headers }: Head) {
  if (errorBody !== undefined) return errorBody;
  const write = route?.errorBody?.bind(route);
  return write && ((refusal: Refusal) => write(refusal, headers));
}

/** Statuses that are reported to `onRefused`: without a valid token, not allowed, too many. */
const refusalStatuses: readonly number[] = [401, 403, 429];

function reportRefusal(
  options: TransportOptions,
  head: Head,
  path: string,
  by: Caller | null,
  error: unknown,
): void {
  if (!(error instanceof Refusal) || !refusalStatuses.includes(error.status)) return;
  const { status, reason } = error;
  const method = head.method.slice(0, 20);
  options.onRefused({ by, method, path, status, reason, address: addressText(head.address) });
}

/** Throws Refusal 431 for a head that is too long. */
function checkHead({ bytes }: Head): void {
  if (bytes <= headBytesMax) return;
  throw new Refusal(
    431,
    `path and headers are ${bytes} bytes, ${headBytesMax} are taken: a token that names fewer groups is shorter`,
  );
}

/** Finds the route. Throws Refusal where the server is stopping or overloaded, or the path or method is unknown. */
function findRoute(state: State, head: Head): Match {
  if (state.draining) throw tryLater("the server is stopping", 5);
  if (state.inFlight.size > requestsInFlightMax) throw tryLater("too many requests at once; try again", 1);
  return matchRoute(state.router, head.method, head.path, head.headers.get("accept"));
}

/** Who is answered, and what the request holds until then. */
interface Requester {
  /** Null where no valid token was sent. */
  by: Caller | null;
  place: Budget | undefined;
}

/** Whom the body and the place of a request are counted for: the caller, or the network of one without a token. */
function holderOf(caller: Caller, head: Head): string {
  return caller.role === "anonymous" ? `network ${networkOf(head.address)}` : rateLimitKeyOf(caller);
}

/** Throws Refusal 503 where the holder has no less requests being answered than it leaves places for others. */
function takePlace(state: State, holder: string, requester: Requester): void {
  const place = state.bounds.places.of(holder);
  if (!place.take(1)) throw tryLater("too many requests at once; try again", 1);
  requester.place = place;
}

/**
 * Admits a request, reads its body and runs its route. Reading starts in the event-loop turn in which the request came:
 * bytes of the body that arrive before reading starts are lost.
 */
async function answer(
  state: State,
  received: Head,
  exchange: RequestExchange,
  { route, params }: Match,
  requester: Requester,
): Promise<Reply> {
  const tokenInPath = route.tokenParameter === undefined ? undefined : params[route.tokenParameter];
  const head = tokenInPath === undefined ? received : { ...received, tokenInPath };
  if (tokenInPath !== undefined) requester.by = null;
  const admitted = admit(state, head, route, requester);
  // Without a place for the request nothing awaits the caller, whose refusal would count as an unhandled rejection.
  if (admitted instanceof Promise) admitted.catch(() => undefined);
  const holder =
    admitted instanceof Promise ? `network ${networkOf(head.address)}` : holderOf(admitted, head);
  takePlace(state, holder, requester);
  const query = new URLSearchParams(head.queryText);
  const makeRequest = (caller: Caller, body: Uint8Array): ServerRequest => ({
    ...{ method: route.method, path: head.path, params, query, headers: head.headers, body, caller },
    readmit: () => readmit(head, route, state.options.access),
    signal: exchange.signal,
  });
  const take = async (part: Uint8Array) => {
    await admitted;
    // A body may come in for hours: its sender's token may have ended meanwhile.
    const caller = await readmit(head, route, state.options.access);
    return route.body!.parts!.take(makeRequest(caller, part));
  };
  const reading = readBody(route, head, exchange, { holder, bodyBytes: state.bounds.bodyBytes }, take);
  const caller = admitted instanceof Promise ? await waitForCaller(admitted, reading, exchange) : admitted;
  const answering = withinDeadline(route, exchange, makeRequest(caller, await reading));
  return answering.catch((error: unknown) => {
    // A route that checks credentials of its body.
    countFailure(state, head, error);
    throw error;
  });
}

/**
 * Authenticates and authorizes. Throws Refusal 401, 403 or 429, or rejects with it; records the caller in `requester`.
 */
function admit(
  state: State,
  head: Head,
  { permission }: Route,
  requester: Requester,
): Caller | Promise<Caller> {
  const { options, rate } = state;
  const clientNetwork = networkOf(head.address);
  const accept = (caller: Caller) => {
    requester.by = caller;
    checkPermission(caller, permission);
    const isRateLimited = permission !== null && permission !== "ingest";
    if (isRateLimited)
      rate.spend(caller.role === "anonymous" ? `address ${clientNetwork}` : rateLimitKeyOf(caller));
    return caller;
  };
  const fail = (error: unknown): never => {
    countFailure(state, head, error);
    throw error;
  };
  try {
    const identified = identify(head, permission, options.access);
    return identified instanceof Promise ? identified.then(accept).catch(fail) : accept(identified);
  } catch (error) {
    return fail(error);
  }
}

/** Counts a failed authentication against its network. Throws Refusal 429 where that has too many. */
function countFailure({ bounds: { failures } }: State, { address }: Head, error: unknown): void {
  if (error instanceof Refusal && error.status === 401) failures.spend(networkOf(address));
}

/** Repeats the access check for a request that was admitted. Does not count towards the caller's rate limit. */
function readmit(head: Head, { permission }: Route, access: AccessRules): Caller | Promise<Caller> {
  const accept = (caller: Caller) => {
    checkPermission(caller, permission);
    return caller;
  };
  const identified = identify(head, permission, access);
  return identified instanceof Promise ? identified.then(accept) : accept(identified);
}

/** Waits for the caller while the body is being received; stops receiving where the caller is refused. */
async function waitForCaller(
  admitted: Promise<Caller>,
  reading: Promise<unknown>,
  exchange: RequestExchange,
): Promise<Caller> {
  // The body may fail first, and nothing awaits it until the caller is known. Without a handler, its error would count
  // as an unhandled rejection.
  reading.catch(() => undefined);
  try {
    return await admitted;
  } catch (error) {
    exchange.abort(error as Error);
    throw error;
  }
}

async function readBody(
  route: Route,
  head: Head,
  exchange: RequestExchange,
  { holder, bodyBytes }: { holder: string; bodyBytes: SharedBudget },
  take: BodyParts["take"],
): Promise<Uint8Array> {
  const budget = bodyBytes.of(holder);
  if (route.body === null)
    return exchange.readBody({ bytesMax: 0, announced: null, budget }).catch(refuseBody);
  const { contentTypes, bytesMax, parts, memory } = route.body;
  checkContentType(contentTypes, head);
  const isInParts = parts !== undefined && !head.headers.has("content-encoding");
  const taking = isInParts ? { bytes: parts.bytes, take } : undefined;
  // A body that its caller could never have room for is refused as too large, not for now.
  const possibleMax = Math.min(bytesMax, Math.floor(bodyBytes.holderMax));
  return exchange.readBody({
    ...{ bytesMax: possibleMax, announced: announcedBytes(head), budget, parts: taking },
    memory: memory && { ...memory, take: (bytes) => memory.take(bytes, head.headers) },
  });
}

function refuseBody(): never {
  throw new Refusal(400, "this request takes no body");
}

function checkContentType(accepted: readonly string[], head: Head): void {
  const type = (head.headers.get("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (accepted.includes(type)) return;
  const named = accepted.slice(0, 2).join(" or ");
  const fromCurl =
    type === "application/x-www-form-urlencoded" ? " (curl sends this type unless told otherwise)" : "";
  const got = type === "" ? "none came" : `got ${JSON.stringify(type.slice(0, 80))}${fromCurl}`;
  throw new Refusal(415, `the Content-Type must be ${named}, ${got}`);
}

async function withinDeadline(
  route: Route,
  exchange: RequestExchange,
  request: ServerRequest,
): Promise<Reply> {
  const late = tryLater(`no answer within ${route.deadlineMs / 1000} s`, 1);
  const timer = setTimeout(() => exchange.abort(late), Math.min(route.deadlineMs, timerMsMax));
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(request.signal.reason as Error);
    if (request.signal.aborted) stop();
    request.signal.addEventListener("abort", stop, { once: true });
  });
  const answering = route.answer(request);
  try {
    return await Promise.race([answering, aborted]);
  } catch (error) {
    // An answer that comes too late is sent to nobody, but its resources must be freed.
    answering.then(
      (late) => late.onEnd?.(),
      () => undefined,
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function waitUntilIdle(state: State, drainMs: number): Promise<void> {
  if (state.inFlight.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    state.onIdle = resolve;
    timer = setTimeout(resolve, drainMs);
  });
  clearTimeout(timer);
}
