/** One tail: reads the stored rows that it asks for page by page, then gets arriving rows from the feed. */

import { setTimeout as delay } from "node:timers/promises";
import type { QueryLimits } from "../../../engine/index.ts";
import type { Semaphore } from "../../throttle/semaphore.ts";
import { tailLagRowsMax, tailPageRowsMax, tailPageSpanMax, tailPageWaitMs } from "../limits.ts";
import {
  type EndReason,
  endEvent,
  heartbeatEvent,
  missedEvent,
  readyEvent,
  slicesOf,
} from "./tail-events.ts";
import type { ArrivalStore, FeedMember, TailFeed, TailSelection } from "./tail-feed.ts";
import type { QueuedItem, TailQueue } from "./tail-queue.ts";

/** What a tail needs. */
export interface TailOptions {
  selection: TailSelection;
  /** Arrival number after which it begins. */
  after: number;
  warnings: readonly string[];
  store: ArrivalStore;
  feed: TailFeed;
  queue: TailQueue;
  /** Bounds how many pages all tails read at once. */
  pageReads: Semaphore;
  limits: QueryLimits;
  /** Returns why the caller may not go on reading; null where it may. */
  findProblem(): Promise<string | null>;
  onSent(rows: number): void;
}

/** One open tail. It begins by catching up, and is live once the feed delivers to it. */
export class Tail implements FeedMember {
  readonly selection: TailSelection;
  readonly #options: TailOptions;
  readonly #ending = new AbortController();
  #after: number;
  #isLive = false;
  #end: Uint8Array | undefined;
  #wake: (() => void) | undefined;
  /**
   * The current pass of catching up. `end` is the newest arrival number when the pass began, `rows` how far behind the
   * tail was then. A skipped pass only counts rows.
   */
  #pass = { end: 0, rows: Number.POSITIVE_INFINITY, isSkipped: false };

  constructor(options: TailOptions) {
    this.#options = options;
    this.selection = options.selection;
    this.#after = options.after;
  }

  get after(): number {
    return this.#after;
  }

  get isSkipping(): boolean {
    return this.#options.queue.isSkipping;
  }

  /** Aborted when the tail ends. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  deliver({ slices, count, through }: Parameters<FeedMember["deliver"]>[0]): void {
    const { queue } = this.#options;
    this.#after = through;
    if (slices === null) queue.addMissed(count, through);
    else queue.add(slices);
    if (count > 0) this.#wake?.();
  }

  fail(message: string): void {
    this.end("failed", message);
  }

  /** Ends the tail with an `end` event. Rows in its queue are left for the next connection. */
  end(reason: EndReason, message: string): void {
    this.#end ??= endEvent(reason, message);
    this.release();
  }

  /** Ends the tail where its caller may no longer read. */
  async check(): Promise<void> {
    const problem = await this.#options.findProblem();
    if (problem !== null) this.end("access", problem);
  }

  /** Leaves the feed and frees the queue, also when the connection was closed. */
  release(): void {
    this.#options.feed.leave(this);
    this.#options.queue.clear();
    this.#ending.abort();
    this.#wake?.();
  }

  /** Returns the bytes that are written every `tailHeartbeatMs`. */
  heartbeat(): Uint8Array {
    return heartbeatEvent(this.#isLive && this.#options.queue.isEmpty ? this.#after : null);
  }

  /** All events of the tail, each made when the connection has room for it. */
  async *events(): AsyncGenerator<Uint8Array, void, undefined> {
    yield readyEvent(this.#after, this.#options.warnings);
    const { queue, feed } = this.#options;
    while (!this.ending.aborted) {
      const item = queue.next();
      if (item !== undefined) yield* this.#writeItem(item);
      else if (this.#isLive) await this.#waitForRows();
      else if (feed.join(this)) this.#isLive = true;
      else await this.#catchUp();
    }
    if (this.#end !== undefined) yield this.#end;
  }

  /** Checks first that the caller may still read: no row is written after that right has gone. */
  async *#writeItem(item: QueuedItem): AsyncGenerator<Uint8Array, void, undefined> {
    await this.check();
    if (this.ending.aborted) return;
    if ("missed" in item) yield missedEvent(item.missed, item.through);
    else {
      this.#options.onSent(item.rows);
      yield item.text();
    }
  }

  #waitForRows(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /**
   * Reads one page of the rows between the tail and the newest row. None of these are missed, unless the reader is so
   * slow that the tail falls further and further behind.
   */
  async #catchUp(): Promise<void> {
    if (this.#after >= this.#pass.end) this.#startPass();
    const { isSkipped, end } = this.#pass;
    const { queue } = this.#options;
    const found = await this.#readPage(
      isSkipped ? 0 : tailPageRowsMax,
      Math.min(end, this.#after + tailPageSpanMax),
    );
    if (found === undefined) return;
    if (isSkipped) queue.addMissed(found.count, found.through);
    else if (!queue.addAll(slicesOf(found.rows, this.selection.signal))) {
      await delay(tailPageWaitMs, undefined, { signal: this.ending }).catch(() => undefined);
      return;
    }
    this.#after = found.through;
  }

  #startPass(): void {
    const end = this.#options.store.arrivalMax;
    const rows = end - this.#after;
    this.#pass = { end, rows, isSkipped: rows > Math.max(this.#pass.rows, tailLagRowsMax) };
  }

  /** Returns undefined where the tail has ended. */
  async #readPage(rowsMax: number, through: number) {
    const { store, limits, pageReads, selection } = this.#options;
    const { signal, fromNs, steps } = selection;
    const after = this.#after;
    const query = { signal, after, through, selections: [{ fromNs, steps, rowsMax }] };
    try {
      const [found] = await pageReads.run(() => store.arrived(query, { ...limits, abort: this.ending }));
      return found;
    } catch (error) {
      if (!this.ending.aborted) this.fail(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}
