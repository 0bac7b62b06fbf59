/**
 * The background work on one partition: compacting and sealing its parts, merging and removing its chunks. Decisions and
 * the catalog are on the store's thread; the maintenance thread carries the work out.
 */
import type { ChunkCaps } from "../chunk/chunk-caps.ts";
import { type DamagedChunk, sumPartBytes } from "../chunk/chunk-ref.ts";
import { isDamage } from "../failure.ts";
import { mergeChunksMin } from "../limits.ts";
import type { Catalog, MemtablePart, Partition } from "../partition/catalog.ts";
import type { Manifest } from "../partition/manifest.ts";
import { addWritten, type WriteReason } from "../partition/write-counts.ts";
import { SharedGarbage } from "../threads/shared-garbage.ts";
import type { WorkerThread } from "../threads/worker-thread.ts";
import { fullChunkRows } from "./compact-parts.ts";
import {
  findOldestAppend,
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
  RecheckAnswer,
  SealTask,
} from "./maintenance-task.ts";

export interface PartitionWorkOptions {
  catalog: Catalog;
  worker: WorkerThread<MaintenanceTask>;
  encoders: EncoderThreads;
  /** How large chunks become. */
  chunkCaps: ChunkCaps;
  /** Most bytes of parts in memory, and of parts that nobody needs and that still take memory. */
  unsealedBytesStop: number;
  /** Resolves once every query has ended that may still read chunks which were just replaced or removed. */
  queriesEnded: () => Promise<void>;
  /**
   * Makes the query thread and the scan threads drop chunks of a partition with their columns, or close all its files
   * where `chunks` is undefined.
   */
  closeChunks: (dir: string, chunks?: readonly number[]) => Promise<void>;
  /** Hides a damaged chunk from searches and reports it. */
  quarantine: (chunk: DamagedChunk) => void;
  reportDamage: (where: string, problem: string) => void;
  log: (level: "info" | "warn" | "error", message: string) => void;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

/** A shorter time than this is too short to estimate the rate of rows from. */
const rateSecondsMin = 0.1;

export class PartitionWork {
  readonly #options: PartitionWorkOptions;
  /** Partitions whose last seal failed, or is running. What it has stored is not known. */
  readonly #failedSeals = new Set<Partition>();
  /** Partitions whose chunks have changed since nothing was found to merge in them. */
  readonly #toMerge: Set<Partition>;
  /** Chunks that are not merged again, because merging them saved nothing. They are tried once more after a start. */
  readonly #unmergeable = new WeakMap<Partition, Set<number>>();

  /** Parts in memory that nobody needs any more. */
  readonly #garbage: SharedGarbage;

  constructor(options: PartitionWorkOptions) {
    this.#options = options;
    this.#garbage = new SharedGarbage(options.unsealedBytesStop);
    const partitions = options.catalog.partitions();
    this.#toMerge = new Set(partitions.filter(({ manifest }) => manifest.chunks.length >= mergeChunksMin));
  }

  /** Partitions in which there may be something to merge. */
  partitionsToMerge(): Partition[] {
    return [...this.#toMerge];
  }

  /** Partitions with quarantined chunks that it is time to check again. */
  partitionsToRecheck(): Partition[] {
    const { catalog, elapsed } = this.#options;
    return catalog.quarantined.due(elapsed());
  }

  /** Gives quarantined chunks back to searches that are whole, after the partition's repair where its tree is damaged. */
  async recheck(partition: Partition): Promise<void> {
    const { worker, catalog, closeChunks, queriesEnded, reportDamage, log } = this.#options;
    const { dir, day } = partition;
    const chunks = catalog.quarantined.take(partition);
    const task = { kind: "recheck", dir, day, chunks } as const;
    const { manifest, damage, whole } = await worker.run<RecheckAnswer>(task);
    for (const { where, problem } of damage) reportDamage(where, problem);
    if (damage.length === 0 && whole.length === 0) return;
    await closeChunks(dir);
    // A query that reads the damaged file would have the chunks quarantined once more.
    await queriesEnded();
    const back = manifest.chunks.filter(({ id }) => whole.includes(id));
    const { manifest: shown } = partition;
    catalog.setManifest(partition, { ...shown, chunks: [...shown.chunks, ...back] });
    this.#setManifest(partition, manifest);
    if (back.length === 0) return;
    const rows = back.reduce((sum, entry) => sum + entry.rows, 0);
    log("info", `${dir}: ${back.length} quarantined chunks with ${rows} rows can be read again`);
  }

  /**
   * Finds out what the last seal of a partition left on disk, where it failed. Without this, rows that it did store
   * would be sealed a second time, together with rows that came later.
   */
  async confirmSeal(partition: Partition): Promise<void> {
    if (!this.#failedSeals.has(partition)) return;
    const { dir, day } = partition;
    const manifest = await this.#runRepairing<Manifest>(partition, async () => ({
      ...{ kind: "confirm-seal", dir, day },
      arrivalSealed: partition.manifest.arrivalSealed,
    }));
    if (manifest.arrivalSealed > partition.manifest.arrivalSealed) {
      this.#setManifest(partition, manifest, "seal");
      const sealed = partition.parts.filter((part) => part.arrivalMax <= manifest.arrivalSealed);
      this.#replaceParts(partition, sealed, []);
    }
    this.#failedSeals.delete(partition);
  }

  /**
   * Seals the parts of a partition. With `fullChunksOnly`, a small last chunk stays unsealed if there are others to
   * seal.
   */
  async seal(partition: Partition, { fullChunksOnly }: { fullChunksOnly: boolean }): Promise<void> {
    const { encoders, chunkCaps } = this.#options;
    const groups = groupPartsToSeal(partition.signal, partition.parts, chunkCaps);
    if (fullChunksOnly && isLastChunkDeferred(partition.signal, groups, chunkCaps)) groups.pop();
    const sealed = groups.flat();
    if (sealed.length === 0) return;
    const { dir, day } = partition;
    const arrivalSealed = sealed.reduce((most, part) => Math.max(most, part.arrivalMax), 0);
    this.#failedSeals.add(partition);
    const manifest = await this.#runRepairing<Manifest>(partition, async () => {
      const chunks = await encoders.encode(partition.signal, groups);
      return { kind: "seal", dir, day, chunks, arrivalSealed };
    });
    this.#setManifest(partition, manifest, "seal");
    this.#replaceParts(partition, sealed, []);
    this.#failedSeals.delete(partition);
  }

  async compactParts(partition: Partition): Promise<void> {
    const { worker, catalog, chunkCaps: caps } = this.#options;
    const { signal } = partition;
    const small = selectPartsToCompact(signal, partition.parts);
    if (small === undefined || this.#isSealNear(partition)) return;
    const parts = small.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
    const compacted = await worker.run<Uint8Array[]>({ kind: "compact-parts", signal, parts, caps });
    const appendedMs = findOldestAppend(small);
    const larger: MemtablePart[] = compacted.map((bytes) =>
      catalog.createPart(partition.day, bytes, 0, appendedMs),
    );
    const count = (some: readonly MemtablePart[]) => some.reduce((sum, part) => sum + part.journalRows, 0);
    if (larger.length > 0) larger[0]!.journalRows += count(small) - count(larger);
    this.#replaceParts(partition, small, larger);
    addWritten(
      catalog.written,
      "compact",
      larger.map(({ rows }) => ({ rows, bytes: 0 })),
    );
  }

  async merge(partition: Partition): Promise<void> {
    const { queriesEnded, quarantine, chunkCaps: caps } = this.#options;
    const unmergeable = this.#unmergeable.get(partition) ?? new Set();
    const chunks = selectChunksToMerge(partition.signal, partition.manifest.chunks, caps, unmergeable);
    if (chunks === undefined) {
      this.#toMerge.delete(partition);
      return;
    }
    const { signal, dir, day } = partition;
    const task = async () => ({ kind: "merge", signal, dir, day, chunks, caps }) as const;
    const { manifest, merged, damaged } = await this.#runRepairing<MergeAnswer>(partition, task);
    this.#setManifest(partition, manifest, "merge");
    for (const chunk of damaged) quarantine(chunk);
    if (merged.length === 0) {
      this.#unmergeable.set(partition, new Set([...unmergeable, ...chunks.map(({ id }) => id)]));
      return;
    }
    await queriesEnded();
    await this.#collectGarbage(partition, merged);
  }

  /** Removes chunks, once no query reads them any more. */
  async removeChunks(partition: Partition, chunks: number[]): Promise<void> {
    const { catalog, queriesEnded } = this.#options;
    const removed = new Set(chunks);
    const kept = partition.manifest.chunks.filter(({ id }) => !removed.has(id));
    catalog.setManifest(partition, { ...partition.manifest, chunks: kept });
    await queriesEnded();
    await this.#collectGarbage(partition, chunks);
  }

  /** Removes a partition with its folder. */
  async remove(partition: Partition): Promise<void> {
    const { worker, catalog, queriesEnded, closeChunks } = this.#options;
    catalog.remove(partition);
    this.#toMerge.delete(partition);
    this.#failedSeals.delete(partition);
    await queriesEnded();
    await closeChunks(partition.dir);
    await worker.run<void>({ kind: "drop", dir: partition.dir });
  }

  /** Removes chunks that no query reads any more. */
  async #collectGarbage(partition: Partition, chunks: number[]): Promise<void> {
    const { dir, day } = partition;
    await this.#options.closeChunks(dir, chunks);
    const task = async () => ({ kind: "collect-garbage", dir, day, chunks }) as const;
    await this.#runRepairing<Manifest>(partition, task);
  }

  /**
   * Returns whether rows come so fast that they fill a chunk within a second. Compacting them now would encode them
   * twice.
   */
  #isSealNear({ signal, parts }: Partition): boolean {
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    const oldestMs = parts.reduce((least, part) => Math.min(least, part.appendedMs), this.#options.now());
    const seconds = Math.max(rateSecondsMin, (this.#options.now() - oldestMs) / 1000);
    return rows * (1 + 1 / seconds) >= fullChunkRows(signal, this.#options.chunkCaps);
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
      if (!isDamage(error)) throw error;
      await this.#repair(partition, error.message);
      return run();
    }
  }

  async #repair(partition: Partition, cause: string): Promise<void> {
    const { worker, closeChunks, reportDamage } = this.#options;
    const { dir, day } = partition;
    const { manifest, damage } = await worker.run<InspectAnswer>({ kind: "repair", dir, day });
    reportDamage(dir, cause);
    for (const { where, problem } of damage) reportDamage(where, problem);
    this.#setManifest(partition, manifest);
    await closeChunks(dir);
  }

  /** Removes parts that are sealed or compacted. Their memory is shared. */
  #replaceParts(
    partition: Partition,
    removed: readonly MemtablePart[],
    added: readonly MemtablePart[],
  ): void {
    this.#options.catalog.replaceParts(partition, removed, added);
    this.#garbage.add(sumPartBytes(removed));
  }

  /** Takes over a manifest that the maintenance thread has written. `reason`: why it names new chunks. */
  #setManifest(partition: Partition, manifest: Manifest, reason?: WriteReason): void {
    const { catalog } = this.#options;
    const added = manifest.chunks.filter(({ id }) => id >= partition.manifest.chunkNext);
    if (reason !== undefined) addWritten(catalog.written, reason, added);
    catalog.setManifest(partition, removeQuarantined(manifest, partition.manifest));
    this.#toMerge.add(partition);
  }
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
