/** One tail: first what is stored, where it asks for that, then the rows as they arrive, at the pace of its reader. */

import { setTimeout as delay } from "node:timers/promises";
import type { QueryLimits } from "../../engine/index.ts";
import type { Semaphore } from "../limits/semaphore.ts";
import { tailLagRowsMax, tailPageRowsMax, tailPageSpanMax, tailPageWaitMs } from "./limits.ts";
import { type EndReason, endEvent, heartbeat, missedEvent, readyEvent, slicesOf } from "./tail-events.ts";
import type { ArrivalStore, FeedMember, TailFeed, TailSelection } from "./tail-feed.ts";
import type { Queued, TailQueue } from "./tail-queue.ts";

export interface TailOptions {
  selection: TailSelection;
  /** Arrival number behind which it begins. */
  after: number;
  warnings: readonly string[];
  store: ArrivalStore;
  feed: TailFeed;
  queue: TailQueue;
  /** Pages that are read at once. */
  reading: Semaphore;
  limits: QueryLimits;
  /** Why it may not go on; null where it may. */
  problem(): Promise<string | null>;
  onSent(rows: number): void;
}

export class Tail implements FeedMember {
  readonly selection: TailSelection;
  readonly #options: TailOptions;
  readonly #ending = new AbortController();
  #after: number;
  #isLive = false;
  #end: Uint8Array | undefined;
  #wake: (() => void) | undefined;
  /** What it catches up with: the newest row when it began with that, and how many rows that were. */
  #lap = { end: 0, rows: Number.POSITIVE_INFINITY, isSkipped: false };

  constructor(options: TailOptions) {
    this.#options = options;
    this.selection = options.selection;
    this.#after = options.after;
  }

  get after(): number {
    return this.#after;
  }

  get isMissing(): boolean {
    return this.#options.queue.isMissing;
  }

  /** Aborted when it ends. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  give({ slices, count, through }: Parameters<FeedMember["give"]>[0]): void {
    const { queue } = this.#options;
    this.#after = through;
    if (slices === null) queue.miss(count, through);
    else queue.add(slices);
    if (count > 0) this.#wake?.();
  }

  fail(message: string): void {
    this.end("failed", message);
  }

  /** Ends it with an event; rows that wait are left for the next connection. */
  end(reason: EndReason, message: string): void {
    this.#end ??= endEvent(reason, message);
    this.leave();
  }

  /** Ends it where its reader may not read any more. */
  async check(): Promise<void> {
    const problem = await this.#options.problem();
    if (problem !== null) this.end("access", problem);
  }

  /** Lets go of everything, as when the reader has gone. */
  leave(): void {
    this.#options.feed.leave(this);
    this.#options.queue.clear();
    this.#ending.abort();
    this.#wake?.();
  }

  heartbeat(): Uint8Array {
    return heartbeat(this.#isLive && this.#options.queue.isEmpty ? this.#after : null);
  }

  async *events(): AsyncGenerator<Uint8Array, void, undefined> {
    yield readyEvent(this.#after, this.#options.warnings);
    const { queue, feed } = this.#options;
    while (!this.ending.aborted) {
      const queued = queue.next();
      if (queued !== undefined) yield* this.#written(queued);
      else if (this.#isLive) await this.#rowsCome();
      else if (feed.join(this)) this.#isLive = true;
      else await this.#catchUp();
    }
    if (this.#end !== undefined) yield this.#end;
  }

  /** Nothing is written that the reader may not read at this very moment. */
  async *#written(queued: Queued): AsyncGenerator<Uint8Array, void, undefined> {
    await this.check();
    if (this.ending.aborted) return;
    if ("missed" in queued) yield missedEvent(queued.missed, queued.through);
    else {
      this.#options.onSent(queued.rows);
      yield queued.text();
    }
  }

  #rowsCome(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /**
   * Reads a page of what is between it and the newest row. Nothing of that is missed, unless its reader is so slow that it falls ever
   * further back.
   */
  async #catchUp(): Promise<void> {
    if (this.#after >= this.#lap.end) this.#startLap();
    const { isSkipped, end } = this.#lap;
    const { queue } = this.#options;
    const found = await this.#read(
      isSkipped ? 0 : tailPageRowsMax,
      Math.min(end, this.#after + tailPageSpanMax),
    );
    if (found === undefined) return;
    if (isSkipped) queue.miss(found.count, found.through);
    else if (!queue.addAll(slicesOf(found.rows, this.selection.signal))) {
      await delay(tailPageWaitMs, undefined, { signal: this.ending }).catch(() => undefined);
      return;
    }
    this.#after = found.through;
  }

  #startLap(): void {
    const end = this.#options.store.arrivalMax;
    const rows = end - this.#after;
    this.#lap = { end, rows, isSkipped: rows > Math.max(this.#lap.rows, tailLagRowsMax) };
  }

  /** Undefined where it has ended. */
  async #read(rowsMax: number, through: number) {
    const { store, limits, reading, selection } = this.#options;
    const { signal, fromNs, steps } = selection;
    const after = this.#after;
    const query = { signal, after, through, selections: [{ fromNs, steps, rowsMax }] };
    try {
      const [found] = await reading.run(() => store.arrived(query, { ...limits, abort: this.ending }));
      return found;
    } catch (error) {
      if (!this.ending.aborted) this.fail(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}
