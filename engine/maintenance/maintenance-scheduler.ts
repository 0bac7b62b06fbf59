/**
 * Background work: joins small parts, seals parts into chunks, merges small chunks, applies retention. Decides on the
 * store's thread, works on the keeper's, one task at a time.
 */

import type { DamagedChunk } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import type { Journal } from "../journal/journal.ts";
import { unsealedAgeMsMax, unsealedBytesMax } from "../limits.ts";
import type { Catalog, MemtablePart, Partition } from "../partition/catalog.ts";
import type { Manifest } from "../partition/manifest.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import { fullChunkRows } from "./compact-parts.ts";
import { chunksToMerge, chunksToSeal, isLastChunkDeferred, partsToCompact } from "./compaction-plan.ts";
import type { EncoderThreads } from "./encoder-threads.ts";
import type {
  CollectGarbageTask,
  InspectAnswer,
  MaintenanceTask,
  MergeAnswer,
  MergeTask,
  SealTask,
} from "./maintenance-task.ts";
import { planRetention, type RetentionOptions } from "./retention.ts";

export interface MaintenanceOptions {
  catalog: Catalog;
  journal: Journal;
  worker: WorkerThread<MaintenanceTask>;
  encoders: EncoderThreads;
  retention: RetentionOptions;
  /** Resolves once every query that may read what is now superseded has ended. */
  queriesEnded: () => Promise<void>;
  /** Makes scan threads let go of a partition. */
  forget: (dir: string) => Promise<void>;
  quarantine: (chunk: DamagedChunk) => void;
  reportDamage: (where: string, problem: string) => void;
  log: (level: "info" | "warn" | "error", message: string) => void;
  now: () => number;
}

const tickMs = 1_000;
/** What came in a shorter time tells little of how fast rows come. */
const rateSecondsMin = 0.1;
const retryMs = 5_000;

export class MaintenanceScheduler {
  readonly #options: MaintenanceOptions;
  readonly #timer: NodeJS.Timeout;
  #work: Promise<void> = Promise.resolve();
  #isBusy = false;
  #waiters: (() => void)[] = [];
  /** Why the last attempt to write failed; undefined once one succeeded. */
  failure: Failure | undefined;
  #retryAtMs = 0;
  #isClosed = false;
  /** Nothing is merged or removed: what is stored now is being copied. */
  #isHeld = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.nudge(), tickMs);
    this.#timer.unref();
  }

  get unsealedBytes(): number {
    return this.#options.catalog.parts().reduce((sum, part) => sum + part.bytes.byteLength, 0);
  }

  /** Looks whether there is work, unless some is under way. */
  nudge(): void {
    if (this.#isBusy || this.#isClosed || this.#options.now() < this.#retryAtMs) return;
    void this.#inTurn(() => this.#pass()).catch((error: unknown) => this.#noteFailure(error));
  }

  /** Resolves after the next piece of background work. */
  progress(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.nudge();
    });
  }

  /** Seals everything that is in memory now. Throws Failure "disk-full". */
  sealAll(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#eachPartition((partition) => this.#seal(partition, { onlyWhole: false }));
      await this.#eachPartition((partition) => this.#merge(partition));
      await this.#retain();
    });
  }

  /**
   * Takes a look at what is stored between two pieces of work; what is named in a manifest then stays until `release`. Throws Failure
   * "overload" while another one holds it.
   */
  async hold<T>(look: () => T): Promise<T> {
    if (this.#isHeld)
      throw new Failure("overload", "another backup is being made: try again when it has ended");
    this.#isHeld = true;
    const seen: T[] = [];
    try {
      await this.#inTurn(async () => void seen.push(look()));
    } catch (error) {
      this.#isHeld = false;
      throw error;
    }
    return seen[0]!;
  }

  release(): void {
    this.#isHeld = false;
    this.nudge();
  }

  /** One piece of work at a time: two would seal the same rows twice. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#isBusy = true;
    const turn = this.#work.then(work);
    const ended = this.#settle(turn).finally(() => {
      if (this.#work === ended) this.#isBusy = false;
      for (const wake of this.#waiters.splice(0)) wake();
    });
    this.#work = ended;
    return turn;
  }

  /** Never rejects: whoever asked for the work hears of its failure. */
  async #settle(turn: Promise<void>): Promise<void> {
    try {
      await turn;
      this.failure = undefined;
    } catch (error) {
      this.failure = error instanceof Failure ? error : undefined;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#work;
  }

  async #pass(): Promise<void> {
    await this.#eachPartition((partition) =>
      this.#isDue(partition) ? this.#seal(partition, { onlyWhole: true }) : this.#join(partition),
    );
    await this.#eachPartition((partition) => this.#merge(partition));
    await this.#retain();
  }

  /** A partition that cannot be written does not hold up the others: its failure is thrown when all had their turn. */
  async #eachPartition(work: (partition: Partition) => Promise<void>): Promise<void> {
    const failures: unknown[] = [];
    for (const partition of this.#options.catalog.partitions()) {
      await work(partition).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Runs a task on a partition. Where the worker finds the partition's tree or manifest damaged, the partition is repaired, the task is
   * made anew and run again.
   */
  async #runRepairing<T>(
    partition: Partition,
    makeTask: () => Promise<SealTask | MergeTask | CollectGarbageTask>,
  ): Promise<T> {
    const run = async () => {
      const task = await makeTask();
      return this.#options.worker.run<T>(task, task.kind === "seal" ? task.chunks : undefined);
    };
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "damage") throw error;
      await this.#mend(partition, error.message);
      return run();
    }
  }

  async #mend(partition: Partition, cause: string): Promise<void> {
    const { worker, forget, reportDamage } = this.#options;
    const { dir, day } = partition;
    const { manifest, damage } = await worker.run<InspectAnswer>({ kind: "repair", dir, day });
    reportDamage(dir, cause);
    for (const { where, problem } of damage) reportDamage(where, problem);
    partition.manifest = withoutQuarantined(manifest, partition.manifest);
    await forget(dir);
  }

  #noteFailure(error: unknown): void {
    const { log, now } = this.#options;
    this.#retryAtMs = now() + retryMs;
    log(
      "error",
      `background work failed and is tried again: ${error instanceof Error ? error.message : String(error)}`,
    );
  }

  #isDue({ signal, parts }: Partition): boolean {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const oldestMs = parts.reduce(
      (least, part) => Math.min(least, part.appendedMs),
      Number.POSITIVE_INFINITY,
    );
    return (
      rows >= fullChunkRows(signal) ||
      this.#options.now() - oldestMs > unsealedAgeMsMax ||
      (parts.length > 0 && this.unsealedBytes > unsealedBytesMax)
    );
  }

  /** Whether its rows come so fast that they fill a chunk within a second: what is compacted before that is built twice. */
  #isSoonDue({ signal, parts }: Partition): boolean {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const oldestMs = parts.reduce((least, part) => Math.min(least, part.appendedMs), this.#options.now());
    const seconds = Math.max(rateSecondsMin, (this.#options.now() - oldestMs) / 1000);
    return rows * (1 + 1 / seconds) >= fullChunkRows(signal);
  }

  /** Seals the parts of a partition; with `onlyWhole`, those that fill whole chunks, if any do. */
  async #seal(partition: Partition, { onlyWhole }: { onlyWhole: boolean }): Promise<void> {
    const { catalog, journal, encoders } = this.#options;
    const groups = chunksToSeal(partition.signal, partition.parts);
    if (onlyWhole && isLastChunkDeferred(partition.signal, groups)) groups.pop();
    const sealed = groups.flat();
    if (sealed.length === 0) return;
    const { dir, day } = partition;
    const arrivalSealed = sealed.reduce((most, part) => Math.max(most, part.arrivalMax), 0);
    const manifest = await this.#runRepairing<Manifest>(partition, async () => {
      const chunks = await encoders.encode(partition.signal, groups);
      return { kind: "seal", dir, day, chunks, arrivalSealed };
    });
    partition.manifest = withoutQuarantined(manifest, partition.manifest);
    partition.parts = partition.parts.filter((part) => !sealed.includes(part));
    const unsealed = catalog
      .parts()
      .reduce((least, part) => Math.min(least, part.arrivalMin), journal.arrivalMax + 1);
    await journal.retire(unsealed - 1);
  }

  async #join(partition: Partition): Promise<void> {
    const { worker, catalog } = this.#options;
    const { signal } = partition;
    const small = partsToCompact(signal, partition.parts);
    if (small === undefined || this.#isSoonDue(partition)) return;
    const parts = small.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
    const compacted = await worker.run<Uint8Array[]>({ kind: "compact-parts", signal, parts });
    const appendedMs = small.reduce(
      (least, part) => Math.min(least, part.appendedMs),
      Number.POSITIVE_INFINITY,
    );
    const entries: MemtablePart[] = compacted.map((bytes) =>
      catalog.createPart(partition.day, bytes, 0, appendedMs),
    );
    partition.parts = [...partition.parts.filter((part) => !small.includes(part)), ...entries];
  }

  async #merge(partition: Partition): Promise<void> {
    if (this.#isHeld) return;
    const { queriesEnded, quarantine } = this.#options;
    const chunks = chunksToMerge(partition.signal, partition.manifest.chunks);
    if (chunks === undefined) return;
    const { signal, dir, day } = partition;
    const task = async () => ({ kind: "merge", signal, dir, day, chunks }) as const;
    const { manifest, merged, damaged } = await this.#runRepairing<MergeAnswer>(partition, task);
    partition.manifest = withoutQuarantined(manifest, partition.manifest);
    for (const chunk of damaged) quarantine(chunk);
    await queriesEnded();
    await this.#sweep(partition, merged);
  }

  async #sweep(partition: Partition, chunks: number[]): Promise<void> {
    const { dir, day } = partition;
    await this.#runRepairing<Manifest>(partition, async () => ({
      kind: "collect-garbage",
      dir,
      day,
      chunks,
    }));
  }

  async #retain(): Promise<void> {
    const { worker, catalog, retention, now, log, queriesEnded, forget } = this.#options;
    if (this.#isHeld || (retention.ageMs === undefined && retention.bytes === undefined)) return;
    const plan = planRetention(catalog.partitions(), retention, now());
    for (const partition of plan.partitions) {
      catalog.remove(partition);
      await queriesEnded();
      await forget(partition.dir);
      await worker.run<void>({ kind: "drop", dir: partition.dir });
      log("info", `retention removed ${partition.dir}`);
    }
    for (const { partition, ids } of plan.chunks) await this.#removeChunks(partition, ids);
  }

  async #removeChunks(partition: Partition, ids: number[]): Promise<void> {
    const { log, queriesEnded } = this.#options;
    const chunks = partition.manifest.chunks.filter(({ id }) => !ids.includes(id));
    partition.manifest = { ...partition.manifest, chunks };
    await queriesEnded();
    await this.#sweep(partition, ids);
    log("info", `retention removed the ${ids.length} oldest chunks of ${partition.dir}`);
  }
}

/** A chunk that was set aside in memory stays so, though the manifest on disk still names it. */
function withoutQuarantined(next: Manifest, current: Manifest): Manifest {
  const known = new Set(current.chunks.map(({ id }) => id));
  const chunks = next.chunks.filter(({ id }) => known.has(id) || id >= current.chunkNext);
  return { ...next, chunks };
}
