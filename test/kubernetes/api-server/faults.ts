/** Faults on demand. */
import type { Attempt } from "./access.ts";
import { internalError, StatusError, tooManyRequests } from "./status.ts";

/** Which requests a fault meets; all of them where it is left out. */
type FaultMatch = (attempt: Attempt) => boolean;

export interface FaultOptions {
  readonly match?: FaultMatch;
  /** The fault ends after so many requests; without it, when it is cleared. */
  readonly times?: number;
}

/** What a fault does to a request before it is served. */
type Effect =
  | { readonly type: "answer"; readonly error: StatusError }
  | { readonly type: "drop" }
  | { readonly type: "delay"; readonly ms: number };

interface Fault {
  readonly match: FaultMatch;
  readonly effect: Effect;
  left: number;
}

/** What the server lets faults do to it. */
export interface FaultTarget {
  dropConnections(): void;
  stallWatches(): void;
  expireWatches(): void;
  compact(): void;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  expireToken(token: string): void;
}

export class Faults {
  readonly #target: FaultTarget;
  #faults: Fault[] = [];
  #stallsNewWatches = false;

  constructor(target: FaultTarget) {
    this.#target = target;
  }

  /** Answers requests with 429 and `Retry-After`, 500, 503 or any other status. */
  answer(status: number, options: FaultOptions & { readonly retryAfter?: number } = {}): void {
    const { retryAfter } = options;
    const error =
      status === 429
        ? tooManyRequests(retryAfter ?? 1)
        : status === 500
          ? internalError("a fault that a test asked for")
          : new StatusError(status, "", `status ${status}, as a test asked for`, undefined, retryAfter);
    this.#add({ type: "answer", error }, options);
  }

  /** Resets the connection of a request instead of an answer. */
  drop(options: FaultOptions = {}): void {
    this.#add({ type: "drop" }, options);
  }

  /** Holds requests for a while, then serves them. */
  delay(ms: number, options: FaultOptions = {}): void {
    this.#add({ type: "delay", ms }, options);
  }

  /** Ends every fault that goes on. Watches that are stalled stay so. */
  clear(): void {
    this.#faults = [];
    this.#stallsNewWatches = false;
  }

  /** Resets every open connection, watches too. */
  dropConnections(): void {
    this.#target.dropConnections();
  }

  /** Open watches are silent for ever, their connections stay open; with `andNew`, new ones too until `clear()`. */
  stallWatches({ andNew = false }: { andNew?: boolean } = {}): void {
    this.#stallsNewWatches = andNew;
    this.#target.stallWatches();
  }

  get stallsNewWatches(): boolean {
    return this.#stallsNewWatches;
  }

  /** Sends 410 to every open watch as an ERROR event. */
  expireWatches(): void {
    this.#target.expireWatches();
  }

  /** Forgets past changes: watches and continuations from before are answered 410. */
  compact(): void {
    this.#target.compact();
  }

  /** Requests with this token are answered 401. */
  expireToken(token: string): void {
    this.#target.expireToken(token);
  }

  /** Closes the port and every connection; the objects stay. */
  goDown(): Promise<void> {
    return this.#target.goDown();
  }

  /** Opens the same port again. The past is forgotten, as a real server forgets it when it starts. */
  comeBack(): Promise<void> {
    return this.#target.comeBack();
  }

  async restart(): Promise<void> {
    await this.goDown();
    await this.comeBack();
  }

  /** The effects on a request, in the order in which the faults were asked for. */
  take(attempt: Attempt): Effect[] {
    const hit = this.#faults.filter((fault) => fault.match(attempt));
    for (const fault of hit) fault.left--;
    this.#faults = this.#faults.filter(({ left }) => left > 0);
    return hit.map(({ effect }) => effect);
  }

  #add(effect: Effect, { match = () => true, times = Number.POSITIVE_INFINITY }: FaultOptions): void {
    this.#faults.push({ effect, match, left: times });
  }
}
