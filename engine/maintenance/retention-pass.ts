/** Applies retention: when it is due, what is removed by it, and what is said about it. */

import type { Journal } from "../journal/journal.ts";
import { retentionJournalShare } from "../limits.ts";
import { signals } from "../model/signal.ts";
import type { Catalog } from "../partition/catalog.ts";
import type { PartitionWork } from "./partition-work.ts";
import { describeHeldDays, NewestDay, planRetention, type RetentionOptions } from "./retention.ts";

interface RetentionPassOptions {
  catalog: Catalog;
  journal: Pick<Journal, "bytes">;
  retention: RetentionOptions;
  work: PartitionWork;
  log: (level: "info" | "warn", message: string) => void;
  now: () => number;
  /** True once the store is being closed. */
  isClosed: () => boolean;
}

export class RetentionPass {
  /** Days that look too old but are kept, ascending. */
  heldDays: readonly number[] = [];
  readonly #options: RetentionPassOptions;
  readonly #newestDay = new NewestDay();
  /** Minute of the clock in which retention by age was last due. */
  #minute = -1;

  constructor(options: RetentionPassOptions) {
    this.#options = options;
  }

  /** Returns whether a pass may find something: a new minute for the age, too many bytes for the size. */
  isDue(): boolean {
    const { catalog, retention, now } = this.#options;
    const minute = Math.floor(now() / 60_000);
    const isNewMinute = retention.ageMs !== undefined && minute !== this.#minute;
    this.#minute = minute;
    if (isNewMinute || retention.bytes === undefined) return isNewMinute;
    const bytes = signals.reduce((sum, signal) => sum + catalog.counts(signal).bytes, 0);
    return bytes > this.#chunkBytesToKeep(retention.bytes);
  }

  async apply(): Promise<void> {
    const { catalog, retention, work, now, log, isClosed } = this.#options;
    if (retention.ageMs === undefined && retention.bytes === undefined) return;
    const partitions = catalog.partitions();
    const clock = { nowMs: now(), sinceNewestMs: this.#newestDay.msSince(partitions) };
    const bytes = retention.bytes === undefined ? undefined : this.#chunkBytesToKeep(retention.bytes);
    const plan = planRetention(partitions, { ...retention, bytes }, clock);
    this.#noteHeldDays(plan.heldDays);
    for (const partition of plan.partitions) {
      if (isClosed()) return;
      await work.remove(partition);
      log("info", `retention removed ${partition.dir}`);
    }
    for (const { partition, ids } of plan.chunks) {
      await work.removeChunks(partition, ids);
      log("info", `retention removed the ${ids.length} oldest chunks of ${partition.dir}`);
    }
  }

  /** What retention by size leaves for chunks beside the journal. */
  #chunkBytesToKeep(bytes: number): number {
    return Math.max(bytes * (1 - retentionJournalShare), bytes - this.#options.journal.bytes);
  }

  #noteHeldDays(days: readonly number[]): void {
    const isKnown = days.join() === this.heldDays.join();
    this.heldDays = days;
    if (!isKnown && days.length > 0) this.#options.log("warn", describeHeldDays(days));
  }
}
