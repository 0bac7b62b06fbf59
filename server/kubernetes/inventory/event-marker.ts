/**
 * Remembers over restarts which Events were sent: API servers list those of the last hour again. Every Event up to a
 * second was sent, and of this second those with the keys.
 */

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import * as z from "zod";
import { markedEventsMax } from "./limits.ts";

const stored = z.object({ timeMs: z.number(), keys: z.array(z.string()) });

export class EventMarker {
  readonly #path: string;
  #timeMs = 0;
  #keys = new Set<string>();
  #isSaved = true;

  /** Begins anew where the file is missing or damaged: then Events of the last hour are sent again. */
  constructor(path: string) {
    this.#path = path;
    try {
      const { timeMs, keys } = stored.parse(JSON.parse(readFileSync(path, "utf8")));
      this.#timeMs = timeMs;
      this.#keys = new Set(keys);
    } catch {
      this.#timeMs = 0;
    }
  }

  /** `key` changes with each time that the Event was seen. */
  wasSent(timeMs: number, key: string): boolean {
    return timeMs < this.#timeMs || (timeMs === this.#timeMs && this.#keys.has(key));
  }

  note(timeMs: number, key: string): void {
    if (timeMs < this.#timeMs) return;
    if (timeMs > this.#timeMs) this.#keys.clear();
    this.#timeMs = timeMs;
    if (this.#keys.size < markedEventsMax) this.#keys.add(key);
    this.#isSaved = false;
  }

  /** Throws the file system's error. */
  save(): void {
    if (this.#isSaved) return;
    const text = JSON.stringify({ timeMs: this.#timeMs, keys: [...this.#keys] });
    writeFileSync(`${this.#path}.new`, text, { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path);
    this.#isSaved = true;
  }
}
