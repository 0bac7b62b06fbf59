/**
 * Schedules background work: compacts small parts, seals parts into chunks, merges small chunks, applies retention. It
 * decides on the store's thread and runs one task at a time on the maintenance thread.
 */

import type { DamagedChunk } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import type { FolderLock } from "../files/folder-lock.ts";
import type { Journal } from "../journal/journal.ts";
import { unsealedAgeMsMax, unsealedBytesMax, unsealedBytesStop } from "../limits.ts";
import type { Catalog, MemtablePart, Partition } from "../partition/catalog.ts";
import type { Manifest } from "../partition/manifest.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import { fullChunkRows } from "./compact-parts.ts";
import {
  groupPartsToSeal,
  isLastChunkDeferred,
  selectChunksToMerge,
  selectPartsToCompact,
} from "./compaction-plan.ts";
import type { EncoderThreads } from "./encoder-threads.ts";
import type {
  CollectGarbageTask,
  ConfirmSealTask,
  InspectAnswer,
  MaintenanceTask,
  MergeAnswer,
  MergeTask,
  SealTask,
} from "./maintenance-task.ts";
import { describeHeldDays, NewestDay, planRetention, type RetentionOptions } from "./retention.ts";

export interface MaintenanceOptions {
  catalog: Catalog;
  journal: Journal;
  worker: WorkerThread<MaintenanceTask>;
  encoders: EncoderThreads;
  retention: RetentionOptions;
  /** Resolves once every query has ended that may still read chunks which were just replaced or removed. */
  queriesEnded: () => Promise<void>;
  /** Makes the query thread and the scan threads close a partition's files and drop its columns. */
  closePartition: (dir: string) => Promise<void>;
  /** Hides a damaged chunk from searches and reports it. */
  quarantine: (chunk: DamagedChunk) => void;
  reportDamage: (where: string, problem: string) => void;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** The lock of the data folder: without it no work may change the folder. */
  lock: Pick<FolderLock, "check">;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

const tickMs = 1_000;
/** A shorter time than this is too short to estimate the rate of rows from. */
const rateSecondsMin = 0.1;
/** Time that an append waits for memory before it is refused. Chosen, not measured. */
const roomWaitMs = 10_000;
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
  /** Partitions whose last seal failed, or is running. What it has stored is not known. */
  readonly #failedSeals = new Set<Partition>();
  /** The Failure that the last piece of work threw; undefined where it threw none. */
  failure: Failure | undefined;
  #retryAtMs = 0;
  #isClosed = false;
  /** Days that look too old but are kept, ascending. */
  retentionHeldDays: readonly number[] = [];
  readonly #newestDay = new NewestDay();
  /** True while a backup copies stored chunks: nothing is merged or removed. */
  #isRemovalPaused = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.nudge(), tickMs);
    this.#timer.unref();
  }

  /** Bytes of all parts in memory. */
  get unsealedBytes(): number {
    return this.#options.catalog.parts().reduce((sum, part) => sum + part.bytes.byteLength, 0);
  }

  /** Starts the work that is due, unless some is under way or a failure is too recent. */
  nudge(): void {
    if (this.#isBusy || this.#isClosed || this.#options.elapsed() < this.#retryAtMs) return;
    void this.#runNext(() => this.#runDueWork()).catch((error: unknown) => this.#noteFailure(error));
  }

  /** Resolves when the next piece of background work has ended, whether it succeeded or failed. */
  waitForWork(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.nudge();
    });
  }

  /** True where parts take so much memory that appends wait. */
  get isFull(): boolean {
    return this.unsealedBytes > unsealedBytesStop;
  }

  /**
   * Waits while the memory for parts is full, so that memory stays flat when rows come faster than they are sealed.
   * Throws Failure "overload" and "disk-full".
   */
  async waitForRoom(): Promise<void> {
    const waitUntilMs = this.#options.elapsed() + roomWaitMs;
    while (this.isFull) {
      if (this.failure?.kind === "disk-full") throw this.failure;
      if (this.#options.elapsed() > waitUntilMs)
        throw new Failure("overload", "rows come faster than they can be stored; try again shortly");
      await this.waitForWork();
    }
  }

  /** Seals everything that is in memory now. Throws Failure "disk-full". */
  sealAll(): Promise<void> {
    return this.#runNext(async () => {
      await this.#eachPartition((partition) => this.#seal(partition, { fullChunksOnly: false }));
      await this.#eachPartition((partition) => this.#merge(partition));
      await this.#applyRetention();
    });
  }

  /**
   * Calls `read` between two pieces of work. Chunks that a manifest names at that moment stay on disk until `release`.
   * Throws Failure "overload" while another caller holds them.
   */
  async pauseRemoval<T>(read: () => T): Promise<T> {
    if (this.#isRemovalPaused)
      throw new Failure("overload", "another backup is being made: try again when it has ended");
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

  /** Ends `hold`: chunks may be merged and removed again. */
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
      for (const resolve of this.#waiters.splice(0)) resolve();
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
  }

  async #runDueWork(): Promise<void> {
    await this.#eachPartition((partition) =>
      this.#isSealDue(partition)
        ? this.#seal(partition, { fullChunksOnly: true })
        : this.#compactParts(partition),
    );
    await this.#eachPartition((partition) => this.#merge(partition));
    await this.#applyRetention();
  }

  /** Works on every partition, also after one failed; throws the first failure at the end. */
  async #eachPartition(work: (partition: Partition) => Promise<void>): Promise<void> {
    const failures: unknown[] = [];
    for (const partition of this.#options.catalog.partitions()) {
      await this.#confirmSeal(partition)
        .then(() => work(partition))
        .catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Finds out what the last seal of a partition left on disk, where it failed. Without this, rows that it did store
   * would be sealed a second time, together with rows that came later.
   */
  async #confirmSeal(partition: Partition): Promise<void> {
    if (!this.#failedSeals.has(partition)) return;
    const { dir, day } = partition;
    const manifest = await this.#runRepairing<Manifest>(partition, async () => ({
      ...{ kind: "confirm-seal", dir, day },
      arrivalSealed: partition.manifest.arrivalSealed,
    }));
    if (manifest.arrivalSealed > partition.manifest.arrivalSealed) {
      partition.manifest = removeQuarantined(manifest, partition.manifest);
      partition.parts = partition.parts.filter((part) => part.arrivalMax > manifest.arrivalSealed);
    }
    this.#failedSeals.delete(partition);
  }

  /**
   * Runs a task on a partition. Where the worker finds the partition's tree or manifest damaged, the partition is
   * repaired; then the task is made anew and run a second time.
   */
  async #runRepairing<T>(
    partition: Partition,
    makeTask: () => Promise<SealTask | ConfirmSealTask | MergeTask | CollectGarbageTask>,
  ): Promise<T> {
    const run = async () => {
      const task = await makeTask();
      return this.#options.worker.run<T>(task, task.kind === "seal" ? task.chunks : undefined);
    };
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "damage") throw error;
      await this.#repair(partition, error.message);
      return run();
    }
  }

  async #repair(partition: Partition, cause: string): Promise<void> {
    const { worker, closePartition, reportDamage } = this.#options;
    const { dir, day } = partition;
    const { manifest, damage } = await worker.run<InspectAnswer>({ kind: "repair", dir, day });
    reportDamage(dir, cause);
    for (const { where, problem } of damage) reportDamage(where, problem);
    partition.manifest = removeQuarantined(manifest, partition.manifest);
    await closePartition(dir);
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
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const oldestMs = findOldestAppend(parts);
    return (
      rows >= fullChunkRows(signal) ||
      // A part of the future was appended before the clock was set back: nobody knows how old it is.
      (parts.length > 0 && Math.abs(this.#options.now() - oldestMs) > unsealedAgeMsMax) ||
      (parts.length > 0 && this.unsealedBytes > unsealedBytesMax)
    );
  }

  /**
   * Returns whether rows come so fast that they fill a chunk within a second. Compacting them now would encode them
   * twice.
   */
  #isSealNear({ signal, parts }: Partition): boolean {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const oldestMs = parts.reduce((least, part) => Math.min(least, part.appendedMs), this.#options.now());
    const seconds = Math.max(rateSecondsMin, (this.#options.now() - oldestMs) / 1000);
    return rows * (1 + 1 / seconds) >= fullChunkRows(signal);
  }

  /**
   * Seals the parts of a partition. With `fullChunksOnly`, a small last chunk stays unsealed if there are others to
   * seal.
   */
  async #seal(partition: Partition, { fullChunksOnly }: { fullChunksOnly: boolean }): Promise<void> {
    const { catalog, journal, encoders } = this.#options;
    const groups = groupPartsToSeal(partition.signal, partition.parts);
    if (fullChunksOnly && isLastChunkDeferred(partition.signal, groups)) groups.pop();
    const sealed = groups.flat();
    if (sealed.length === 0) return;
    const { dir, day } = partition;
    const arrivalSealed = sealed.reduce((most, part) => Math.max(most, part.arrivalMax), 0);
    this.#failedSeals.add(partition);
    const manifest = await this.#runRepairing<Manifest>(partition, async () => {
      const chunks = await encoders.encode(partition.signal, groups);
      return { kind: "seal", dir, day, chunks, arrivalSealed };
    });
    partition.manifest = removeQuarantined(manifest, partition.manifest);
    partition.parts = partition.parts.filter((part) => !sealed.includes(part));
    this.#failedSeals.delete(partition);
    const unsealed = catalog
      .parts()
      .reduce((least, part) => Math.min(least, part.arrivalMin), journal.arrivalMax + 1);
    await journal.removeSealedSegments(unsealed - 1);
  }

  async #compactParts(partition: Partition): Promise<void> {
    const { worker, catalog } = this.#options;
    const { signal } = partition;
    const small = selectPartsToCompact(signal, partition.parts);
    if (small === undefined || this.#isSealNear(partition)) return;
    const parts = small.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
    const compacted = await worker.run<Uint8Array[]>({ kind: "compact-parts", signal, parts });
    const appendedMs = findOldestAppend(small);
    const larger: MemtablePart[] = compacted.map((bytes) =>
      catalog.createPart(partition.day, bytes, 0, appendedMs),
    );
    partition.parts = [...partition.parts.filter((part) => !small.includes(part)), ...larger];
  }

  async #merge(partition: Partition): Promise<void> {
    if (this.#isRemovalPaused) return;
    const { queriesEnded, quarantine } = this.#options;
    const chunks = selectChunksToMerge(partition.signal, partition.manifest.chunks);
    if (chunks === undefined) return;
    const { signal, dir, day } = partition;
    const task = async () => ({ kind: "merge", signal, dir, day, chunks }) as const;
    const { manifest, merged, damaged } = await this.#runRepairing<MergeAnswer>(partition, task);
    partition.manifest = removeQuarantined(manifest, partition.manifest);
    for (const chunk of damaged) quarantine(chunk);
    await queriesEnded();
    await this.#collectGarbage(partition, merged);
  }

  /** Removes chunks that no query reads any more. */
  async #collectGarbage(partition: Partition, chunks: number[]): Promise<void> {
    const { dir, day } = partition;
    const task = async () => ({ kind: "collect-garbage", dir, day, chunks }) as const;
    await this.#runRepairing<Manifest>(partition, task);
  }

  async #applyRetention(): Promise<void> {
    const { worker, catalog, retention, now, log, queriesEnded, closePartition } = this.#options;
    if (this.#isRemovalPaused || (retention.ageMs === undefined && retention.bytes === undefined)) return;
    const partitions = catalog.partitions();
    const clock = { nowMs: now(), sinceNewestMs: this.#newestDay.msSince(partitions) };
    const plan = planRetention(partitions, retention, clock);
    this.#noteHeldDays(plan.heldDays);
    for (const partition of plan.partitions) {
      catalog.remove(partition);
      await queriesEnded();
      await closePartition(partition.dir);
      await worker.run<void>({ kind: "drop", dir: partition.dir });
      log("info", `retention removed ${partition.dir}`);
    }
    for (const { partition, ids } of plan.chunks) await this.#removeChunks(partition, ids);
  }

  #noteHeldDays(days: readonly number[]): void {
    const isKnown = days.join() === this.retentionHeldDays.join();
    this.retentionHeldDays = days;
    if (!isKnown && days.length > 0) this.#options.log("warn", describeHeldDays(days));
  }

  async #removeChunks(partition: Partition, ids: number[]): Promise<void> {
    const { log, queriesEnded } = this.#options;
    const chunks = partition.manifest.chunks.filter(({ id }) => !ids.includes(id));
    partition.manifest = { ...partition.manifest, chunks };
    await queriesEnded();
    await this.#collectGarbage(partition, ids);
    log("info", `retention removed the ${ids.length} oldest chunks of ${partition.dir}`);
  }
}

function findOldestAppend(parts: readonly MemtablePart[]): number {
  return parts.reduce((least, { appendedMs }) => Math.min(least, appendedMs), Number.POSITIVE_INFINITY);
}

/**
 * The manifest as the worker wrote it, without chunks that are quarantined in memory: the manifest on disk still names
 * those.
 */
function removeQuarantined(next: Manifest, current: Manifest): Manifest {
  const known = new Set(current.chunks.map(({ id }) => id));
  const chunks = next.chunks.filter(({ id }) => known.has(id) || id >= current.chunkNext);
  return { ...next, chunks };
}
