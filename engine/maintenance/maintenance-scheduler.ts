/**
 * Background work: joins small images, seals images into chunks, merges small chunks, applies retention. Decides on the
 * store's thread, works on the keeper's, one task at a time.
 */

import type { DamagedChunk } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import type { Journal } from "../journal/journal.ts";
import { unsealedAgeMsMax, unsealedBytesMax } from "../limits.ts";
import type { Catalog, ImageEntry, Partition } from "../partition/catalog.ts";
import type { Manifest } from "../partition/manifest.ts";
import type { Shard } from "../threads/worker-thread.ts";
import { chunkRowsOf } from "./compact-parts.ts";
import { chunksToMerge, imagesToJoin, isLastSpared, partsToSeal } from "./compaction-plan.ts";
import type { Packers } from "./encoder-threads.ts";
import type { InspectAnswer, MergeAnswer, MergeTask, SealTask, SweepTask } from "./maintenance-task.ts";
import { planRetention, type RetentionOptions } from "./retention.ts";

export interface UpkeepOptions {
  catalog: Catalog;
  journal: Journal;
  keeper: Shard;
  packers: Packers;
  retention: RetentionOptions;
  /** Resolves once every query that may read what is now superseded has ended. */
  queriesEnded: () => Promise<void>;
  /** Makes scan threads let go of a partition. */
  forget: (dir: string) => Promise<void>;
  setAside: (chunk: DamagedChunk) => void;
  reportDamage: (where: string, problem: string) => void;
  log: (level: "info" | "warn" | "error", message: string) => void;
  now: () => number;
}

const tickMs = 1_000;
/** What came in a shorter time tells little of how fast rows come. */
const paceSecondsMin = 0.1;
const retryMs = 5_000;

export class Upkeep {
  readonly #options: UpkeepOptions;
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

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.nudge(), tickMs);
    this.#timer.unref();
  }

  get unsealedBytes(): number {
    return this.#options.catalog.images().reduce((sum, image) => sum + image.bytes.byteLength, 0);
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

  /** Runs a task on a partition; where that finds its tree or manifest damaged, it is mended and the task run again. */
  async #keep<T>(partition: Partition, task: SealTask | MergeTask | SweepTask): Promise<T> {
    const { keeper } = this.#options;
    try {
      return await keeper.run<T>(task);
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "damage") throw error;
      await this.#mend(partition, error.message);
      return keeper.run<T>(task);
    }
  }

  async #mend(partition: Partition, cause: string): Promise<void> {
    const { keeper, forget, reportDamage } = this.#options;
    const { dir, day } = partition;
    const { manifest, damage } = await keeper.run<InspectAnswer>({ kind: "mend", dir, day });
    reportDamage(dir, cause);
    for (const { where, problem } of damage) reportDamage(where, problem);
    partition.manifest = withoutSetAside(manifest, partition.manifest);
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

  #isDue({ signal, images }: Partition): boolean {
    const rows = images.reduce((sum, image) => sum + image.rows, 0);
    const oldestMs = images.reduce(
      (least, image) => Math.min(least, image.appendedMs),
      Number.POSITIVE_INFINITY,
    );
    return (
      rows >= chunkRowsOf(signal) ||
      this.#options.now() - oldestMs > unsealedAgeMsMax ||
      (images.length > 0 && this.unsealedBytes > unsealedBytesMax)
    );
  }

  /** Whether its rows come so fast that they fill a chunk within a second: what is joined before that is built twice. */
  #isSoonDue({ signal, images }: Partition): boolean {
    const rows = images.reduce((sum, image) => sum + image.rows, 0);
    const oldestMs = images.reduce((least, image) => Math.min(least, image.appendedMs), this.#options.now());
    const seconds = Math.max(paceSecondsMin, (this.#options.now() - oldestMs) / 1000);
    return rows * (1 + 1 / seconds) >= chunkRowsOf(signal);
  }

  /** Seals the images of a partition; with `onlyWhole`, those that fill whole chunks, if any do. */
  async #seal(partition: Partition, { onlyWhole }: { onlyWhole: boolean }): Promise<void> {
    const { catalog, journal, packers } = this.#options;
    const parts = partsToSeal(partition.signal, partition.images);
    if (onlyWhole && isLastSpared(partition.signal, parts)) parts.pop();
    const sealed = parts.flat();
    if (sealed.length === 0) return;
    const chunks = await packers.pack(partition.signal, parts);
    const { dir, day } = partition;
    const arrivalSealed = sealed.reduce((most, image) => Math.max(most, image.arrivalMax), 0);
    const manifest = await this.#keep<Manifest>(partition, { kind: "seal", dir, day, chunks, arrivalSealed });
    partition.manifest = withoutSetAside(manifest, partition.manifest);
    partition.images = partition.images.filter((image) => !sealed.includes(image));
    const unsealed = catalog
      .images()
      .reduce((least, image) => Math.min(least, image.arrivalMin), journal.arrivalMax + 1);
    await journal.retire(unsealed - 1);
  }

  async #join(partition: Partition): Promise<void> {
    const { keeper, catalog } = this.#options;
    const { signal } = partition;
    const small = imagesToJoin(signal, partition.images);
    if (small === undefined || this.#isSoonDue(partition)) return;
    const images = small.map(({ bytes, arrivalBase }) => ({ bytes, arrivalBase }));
    const joined = await keeper.run<Uint8Array[]>({ kind: "join", signal, images });
    const appendedMs = small.reduce(
      (least, image) => Math.min(least, image.appendedMs),
      Number.POSITIVE_INFINITY,
    );
    const entries: ImageEntry[] = joined.map((bytes) =>
      catalog.imageEntry(partition.day, bytes, 0, appendedMs),
    );
    partition.images = [...partition.images.filter((image) => !small.includes(image)), ...entries];
  }

  async #merge(partition: Partition): Promise<void> {
    if (this.#isHeld) return;
    const { queriesEnded, setAside } = this.#options;
    const chunks = chunksToMerge(partition.signal, partition.manifest.chunks);
    if (chunks === undefined) return;
    const { signal, dir, day } = partition;
    const task = { kind: "merge", signal, dir, day, chunks } as const;
    const { manifest, merged, damaged } = await this.#keep<MergeAnswer>(partition, task);
    partition.manifest = withoutSetAside(manifest, partition.manifest);
    for (const chunk of damaged) setAside(chunk);
    await queriesEnded();
    await this.#keep<Manifest>(partition, { kind: "sweep", dir, day, chunks: merged });
  }

  async #retain(): Promise<void> {
    const { keeper, catalog, retention, now, log, queriesEnded, forget } = this.#options;
    if (this.#isHeld || (retention.ageMs === undefined && retention.bytes === undefined)) return;
    const plan = planRetention(catalog.partitions(), retention, now());
    for (const partition of plan.partitions) {
      catalog.remove(partition);
      await queriesEnded();
      await forget(partition.dir);
      await keeper.run<void>({ kind: "drop", dir: partition.dir });
      log("info", `retention removed ${partition.dir}`);
    }
    for (const { partition, ids } of plan.chunks) await this.#removeChunks(partition, ids);
  }

  async #removeChunks(partition: Partition, ids: number[]): Promise<void> {
    const { log, queriesEnded } = this.#options;
    const { dir, day } = partition;
    const chunks = partition.manifest.chunks.filter(({ id }) => !ids.includes(id));
    partition.manifest = { ...partition.manifest, chunks };
    await queriesEnded();
    await this.#keep<Manifest>(partition, { kind: "sweep", dir, day, chunks: ids });
    log("info", `retention removed the ${ids.length} oldest chunks of ${dir}`);
  }
}

/** A chunk that was set aside in memory stays so, though the manifest on disk still names it. */
function withoutSetAside(next: Manifest, current: Manifest): Manifest {
  const known = new Set(current.chunks.map(({ id }) => id));
  const chunks = next.chunks.filter(({ id }) => known.has(id) || id >= current.chunkNext);
  return { ...next, chunks };
}
