/** Rows as they arrive at the server: the newest ones, in batches that the page can draw. */

import { signal } from "@preact/signals";
import type { FoundLog } from "../api/answers.ts";

/** The page keeps at most this many rows of a tail; older ones are dropped. */
const rowsMax = 5_000;
/** Milliseconds between two batches. */
const batchMs = 120;

/** The newest first. A row without attributes whose `missed` is set stands for rows that came too fast. */
export const liveRows = signal<readonly FoundLog[]>([]);
/** Rows that arrived while the list stands still. */
export const heldRows = signal(0);
const connecting = "Connecting…";
/** Undefined while rows can arrive, else why they cannot. */
export const liveProblem = signal<string | undefined>(connecting);
/** Rows that the query found since the tail began, those that came too fast included. */
export const liveCount = signal(0);

/** One tail of a query. Rows that arrive while it is paused are held back, up to a bound. */
export class LiveTail {
  readonly #source: EventSource;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Rows that the list does not show yet, the oldest first. */
  #waiting: FoundLog[] = [];
  #isPaused = false;

  constructor(query: string) {
    liveRows.value = [];
    liveCount.value = 0;
    heldRows.value = 0;
    liveProblem.value = connecting;
    this.#source = new EventSource(`/api/v1/query/tail?query=${encodeURIComponent(query)}`);
    this.#source.addEventListener("ready", () => {
      liveProblem.value = undefined;
    });
    this.#source.addEventListener("message", ({ data }) => this.#take(JSON.parse(data) as FoundLog));
    this.#source.addEventListener("missed", ({ data }) =>
      this.#takeGap((JSON.parse(data) as { rows: number }).rows),
    );
    this.#source.addEventListener("end", ({ data }) =>
      this.#end(JSON.parse(data) as { reason: string; message: string }),
    );
    this.#source.addEventListener("error", () => {
      liveProblem.value =
        this.#source.readyState === EventSource.CLOSED
          ? "The server refuses this tail: run the query as a search to see why."
          : "The connection is lost; trying again…";
    });
    this.#timer = setInterval(() => this.#show(), batchMs);
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    if (!isPaused) this.#show();
  }

  close(): void {
    this.#source.close();
    // Whoever shows the next tail does so before it begins.
    liveProblem.value = connecting;
    clearInterval(this.#timer);
  }

  #take(row: FoundLog): void {
    liveCount.value++;
    this.#waiting.push(row);
    // What is not seen in time is gone anyway: half of it at once, so that dropping is cheap.
    if (this.#waiting.length > 2 * rowsMax) this.#waiting.splice(0, rowsMax);
  }

  #takeGap(rows: number): void {
    liveCount.value += rows;
    const message = `${rows.toLocaleString("en")} rows came faster than this page took them and are missing here`;
    this.#waiting.push({ timestamp: Date.now(), log_level: "", message, attributes: {} });
  }

  #end({ reason, message }: { reason: string; message: string }): void {
    // The browser connects again by itself, which is right where the server stops or rights have changed.
    if (reason === "failed") this.close();
    liveProblem.value = message;
  }

  #show(): void {
    heldRows.value = this.#isPaused ? this.#waiting.length : 0;
    if (this.#isPaused || this.#waiting.length === 0) return;
    const arrived = this.#waiting.reverse();
    this.#waiting = [];
    liveRows.value = [...arrived, ...liveRows.value.slice(0, Math.max(0, rowsMax - arrived.length))].slice(
      0,
      rowsMax,
    );
  }
}
