/**
 * Schedules background work: compacts small parts, seals parts into chunks, merges small chunks, applies retention. It
 * decides on the store's thread and runs one task at a time on the maintenance thread.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../failure.ts";
import type { FolderLock } from "../files/folder-lock.ts";
import type { Journal } from "../journal/journal.ts";
import { journalBatchesMax, unsealedAgeMsMax, unsealedDaysMax, unsealedDaysStop } from "../limits.ts";
import type { Partition } from "../partition/catalog.ts";
import { Turns } from "../threads/turns.ts";
import { fullChunkRows } from "./compact-parts.ts";
import { findOldestAppend } from "./compaction-plan.ts";
import { PartitionWork, type PartitionWorkOptions } from "./partition-work.ts";
import type { RetentionOptions } from "./retention.ts";
import { RetentionPass } from "./retention-pass.ts";

export interface MaintenanceOptions extends PartitionWorkOptions {
  journal: Journal;
  retention: RetentionOptions;
  /** Bytes of parts in memory that start a seal, whatever their number of rows. */
  unsealedBytesMax: number;
  /** Bytes of parts in memory above which appends wait for the seal. */
  unsealedBytesStop: number;
  /** See `StoreOptions`. */
  mergesLater: boolean;
  /** The lock of the data folder: without it no work may change the folder. */
  lock: Pick<FolderLock, "check">;
}

const tickMs = 1_000;
/** Time that an append waits for memory before it is refused. Chosen, not measured. */
const roomWaitMs = 10_000;
/** Time that a caller waits for the end of another caller's backup. */
const pauseWaitMs = 5_000;
const pausePollMs = 20;
/** Pause after background work failed. */
const retryMs = 5_000;

/** Checks once per second, and whenever `nudge` is called, whether there is work. */
export class MaintenanceScheduler {
  readonly #options: MaintenanceOptions;
  readonly #timer: NodeJS.Timeout;
  /** Resolves when the last piece of work that was queued has ended. */
  #lastWork: Promise<void> = Promise.resolve();
  #isBusy = false;
  #waiters: (() => void)[] = [];
  readonly #work: PartitionWork;
  /** The Failure that the last piece of work threw; undefined where it threw none. */
  failure: Failure | undefined;
  #retryAtMs = 0;
  #isClosed = false;
  readonly #retention: RetentionPass;
  /** True while a backup copies stored chunks: nothing is merged or removed. */
  #isRemovalPaused = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#work = new PartitionWork(options);
    this.#retention = new RetentionPass({ ...options, work: this.#work, isClosed: () => this.#isClosed });
    this.#timer = setInterval(() => this.nudge(), tickMs);
    this.#timer.unref();
  }

  /** Starts the work that is due, unless some is under way or a failure is too recent. */
  nudge(): void {
    if (this.#isBusy || this.#isClosed || this.#options.elapsed() < this.#retryAtMs) return;
    void this.#runNext(() => this.#runDueWork()).catch((error: unknown) => this.#noteFailure(error));
  }

  /** Days that look too old but are kept, ascending. */
  get retentionHeldDays(): readonly number[] {
    return this.#retention.heldDays;
  }

  /** True where parts take so much memory, or are of so many days, that appends wait. */
  get isFull(): boolean {
    const { catalog, unsealedBytesStop } = this.#options;
    return catalog.unsealedBytes > unsealedBytesStop || catalog.unsealedDays > unsealedDaysStop;
  }

  /**
   * Waits while the memory for parts is full, so that memory stays flat when rows come faster than they are sealed.
   * Throws Failure "overload" and "disk-full".
   */
  async waitForRoom(): Promise<void> {
    const waitUntilMs = this.#options.elapsed() + roomWaitMs;
    while (this.isFull) {
      if (this.#isClosed) throw new Failure("folder", "the store is closed");
      if (this.failure?.kind === "disk-full") throw this.failure;
      const leftMs = waitUntilMs - this.#options.elapsed();
      if (leftMs <= 0)
        throw new Failure("overload", "rows come faster than they can be stored; try again shortly");
      await this.#waitForWork(leftMs);
    }
  }

  /** Resolves when a partition was worked on, whether that succeeded or failed, and after so many milliseconds. */
  #waitForWork(mostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, mostMs);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.nudge();
    });
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** Seals everything that is in memory now. Throws Failure "disk-full". */
  sealAll(): Promise<void> {
    return this.#runNext(() =>
      runAll([
        () => this.#sealPartitions((partition) => this.#work.seal(partition, { fullChunksOnly: false })),
        () => this.#mergePartitions(),
        () => this.#applyRetention(),
      ]),
    );
  }

  /**
   * Calls `read` between two pieces of work. Chunks that a manifest names at that moment stay on disk until `resumeRemoval`.
   * Throws Failure "overload" where another caller still holds them after some seconds.
   */
  async pauseRemoval<T>(read: () => T): Promise<T> {
    const waitUntilMs = this.#options.elapsed() + pauseWaitMs;
    // The other caller may be gone, and its end not seen yet.
    while (this.#isRemovalPaused) {
      if (this.#options.elapsed() > waitUntilMs)
        throw new Failure("overload", "another backup is being made: try again when it has ended");
      await sleep(pausePollMs);
    }
    this.#isRemovalPaused = true;
    const results: T[] = [];
    try {
      await this.#runNext(async () => void results.push(read()));
    } catch (error) {
      this.#isRemovalPaused = false;
      throw error;
    }
    return results[0]!;
  }

  /** Ends what `pauseRemoval` began: chunks may be merged and removed again. */
  resumeRemoval(): void {
    this.#isRemovalPaused = false;
    this.nudge();
  }

  /** Runs work after all work that is queued. Two pieces at a time would seal the same rows twice. */
  #runNext(work: () => Promise<void>): Promise<void> {
    this.#isBusy = true;
    const run = this.#lastWork.then(async () => {
      this.#options.lock.check();
      await work();
    });
    const ended = this.#recordOutcome(run).finally(() => {
      if (this.#lastWork === ended) this.#isBusy = false;
      this.#wakeWaiters();
    });
    this.#lastWork = ended;
    return run;
  }

  /** Never rejects: the caller of `#runNext` gets the error. */
  async #recordOutcome(run: Promise<void>): Promise<void> {
    try {
      await run;
      this.failure = undefined;
    } catch (error) {
      this.failure = error instanceof Failure ? error : undefined;
    }
  }

  /** Starts no further work and waits for the work that was started. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#lastWork;
    this.#wakeWaiters();
  }

  #runDueWork(): Promise<void> {
    return runAll([
      () => this.#recheckPartitions(),
      () =>
        this.#sealPartitions((partition) =>
          this.#isSealDue(partition)
            ? this.#work.seal(partition, { fullChunksOnly: true })
            : this.#work.compactParts(partition),
        ),
      () => this.#mergePartitions(),
      // Also where a seal failed, because retention frees the disk that may be full.
      () => this.#applyRetention(this.#retention.isDue()),
    ]);
  }

  async #recheckPartitions(): Promise<void> {
    if (this.#isRemovalPaused) return;
    await this.#eachPartition(this.#work.partitionsToRecheck(), (partition) => this.#work.recheck(partition));
  }

  async #mergePartitions(): Promise<void> {
    if (this.#options.mergesLater) return;
    await this.#eachPartition(this.#work.partitionsToMerge(), async (partition) => {
      if (!this.#isRemovalPaused) await this.#work.merge(partition);
    });
  }

  /** Applies retention, where `isDue`, unless a backup needs the chunks. */
  async #applyRetention(isDue = true): Promise<void> {
    if (isDue && !this.#isRemovalPaused) await this.#retention.apply();
  }

  /** Works on every partition with parts in memory, then shortens the journal. */
  async #sealPartitions(work: (partition: Partition) => Promise<void>): Promise<void> {
    const { catalog, journal } = this.#options;
    const arrivalMin = catalog.unsealedArrivalMin;
    try {
      await this.#eachPartition(catalog.unsealedPartitions(), work);
    } finally {
      const arrivalMinNow = catalog.unsealedArrivalMin;
      if (arrivalMinNow > arrivalMin)
        await journal.removeSealedSegments(Math.min(arrivalMinNow - 1, journal.arrivalMax));
    }
  }

  /**
   * Works on each of these partitions, also after one failed; throws the first failure at the end. Ends early when the
   * store is closed.
   */
  async #eachPartition(
    partitions: readonly Partition[],
    work: (partition: Partition) => Promise<void>,
  ): Promise<void> {
    const turns = new Turns();
    await runEach(partitions, async (partition) => {
      if (this.#isClosed) return;
      if (turns.isOver) await turns.next();
      await this.#work.confirmSeal(partition);
      await work(partition);
      // An append that waits for memory need not wait for merges and retention, too.
      this.#wakeWaiters();
    });
  }

  #noteFailure(error: unknown): void {
    const { log, elapsed } = this.#options;
    this.#retryAtMs = elapsed() + retryMs;
    log(
      "error",
      `background work failed and is tried again: ${error instanceof Error ? error.message : String(error)}`,
    );
  }

  #isSealDue({ signal, parts }: Partition): boolean {
    const { catalog, journal, now, chunkCaps, unsealedBytesMax } = this.#options;
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    return (
      rows >= fullChunkRows(signal, chunkCaps) ||
      parts.some(({ isPacked }) => isPacked) ||
      // A part of the future was appended before the clock was set back: nobody knows how old it is.
      Math.abs(now() - findOldestAppend(parts)) > unsealedAgeMsMax ||
      catalog.unsealedBytes > unsealedBytesMax ||
      catalog.unsealedDays > unsealedDaysMax ||
      journal.batches > journalBatchesMax
    );
  }
}

/** Runs work on each item in turn, also after it failed on one; throws the first failure at the end. */
async function runEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Runs pieces of work in turn, as `runEach`. */
function runAll(pieces: readonly (() => Promise<void>)[]): Promise<void> {
  return runEach(pieces, (piece) => piece());
}
