/**
 * Remembers over restarts which Events were sent: API servers list those of the last hour again. Every Event before a
 * time was sent, and of those since then the ones with the keys. The time is never ahead of the clock: an Event may be
 * dated hours ahead, and of what happens until then nothing was sent.
 */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { markedEventsMax } from "./limits.ts";

const stored = z.object({
  timeMs: z.number(),
  /** Keys of Events of this very time. */
  keys: z.array(z.string()),
  /** Keys of Events that were ahead of the clock, with their times. */
  ahead: z.array(z.tuple([z.string(), z.number()])).default([]),
});

/** An Event that was sent: its time in Unix milliseconds, and a key that changes with each time that it was seen. */
export type SentEvent = readonly [timeMs: number, key: string];

export class EventMarker {
  readonly #path: string;
  readonly #nowMs: () => number;
  #timeMs = 0;
  /** Times of Events that were sent, by key; none is before `#timeMs`. */
  readonly #sent = new Map<string, number>();
  /** What was sent before the process started. */
  readonly #before: { timeMs: number; keys: ReadonlySet<string> };
  #isSaved = true;

  /**
   * Begins anew where the file is missing or damaged, or its time is ahead of the clock: then Events of the last hour are
   * sent again.
   */
  constructor(path: string, nowMs: () => number) {
    this.#path = path;
    this.#nowMs = nowMs;
    try {
      const { timeMs, keys, ahead } = stored.parse(JSON.parse(readFileSync(path, "utf8")));
      for (const key of keys) this.#sent.set(key, timeMs);
      for (const [key, aheadMs] of ahead) this.#sent.set(key, aheadMs);
      this.#timeMs = timeMs > nowMs() ? 0 : timeMs;
    } catch {
      this.#timeMs = 0;
    }
    this.#before = { timeMs: this.#timeMs, keys: new Set(this.#sent.keys()) };
  }

  /** Returns whether an Event was sent before the process started. */
  wasSent([timeMs, key]: SentEvent): boolean {
    return timeMs < this.#before.timeMs || this.#before.keys.has(key);
  }

  note(events: readonly SentEvent[]): void {
    const newer = events.filter(([timeMs]) => timeMs >= this.#timeMs);
    if (newer.length === 0) return;
    const nowMs = this.#nowMs();
    for (const timeMs of [...newer.map(([each]) => each), ...this.#sent.values()])
      if (timeMs <= nowMs) this.#timeMs = Math.max(this.#timeMs, timeMs);
    for (const [key, timeMs] of this.#sent) if (timeMs < this.#timeMs) this.#sent.delete(key);
    for (const [timeMs, key] of newer)
      if (timeMs >= this.#timeMs && this.#sent.size < markedEventsMax) this.#sent.set(key, timeMs);
    this.#isSaved = false;
  }

  /** Throws the file system's error. */
  save(): void {
    if (this.#isSaved) return;
    const sent = [...this.#sent];
    const keys = sent.flatMap(([key, timeMs]) => (timeMs === this.#timeMs ? [key] : []));
    const ahead = sent.filter(([, timeMs]) => timeMs > this.#timeMs);
    const text = JSON.stringify({ timeMs: this.#timeMs, keys, ahead });
    writeFileSync(`${this.#path}.new`, text, { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path);
    this.#isSaved = true;
  }
}
