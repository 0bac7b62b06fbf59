/**
 * The catalog: the partitions of an open store with their manifests, and the parts in memory that are not sealed yet.
 */
import { join } from "node:path";
import { copyToSharedMemory, isInSharedMemory, openBatch } from "../batch/batch.ts";
import type { ChunkEntry, ChunkExtent } from "../chunk/chunk-entry.ts";
import { type ListedKeys, listAttributeKeys } from "../chunk/chunk-header.ts";
import { type ChunkRef, extentOf } from "../chunk/chunk-ref.ts";
import { isPackedPart, openPart, readPartExtent } from "../chunk/part.ts";
import type { JournalRecord } from "../journal/journal-record.ts";
import { dayName, dayOf } from "../model/day.ts";
import { clampToDay } from "../model/day-range.ts";
import { type Signal, signals } from "../model/signal.ts";
import { Turns } from "../threads/turns.ts";
import { OldestArrivals } from "./arrival-times.ts";
import { emptyManifest, type Manifest } from "./manifest.ts";
import { QuarantinedChunks } from "./quarantined-chunks.ts";
import { createWriteCounts } from "./write-counts.ts";

/**
 * Rows of one batch and day (or of several compacted ones) in columnar form in memory; the journal holds the same rows.
 */
export interface MemtablePart extends ChunkExtent {
  id: number;
  day: number;
  /** Added to the numbers of the arrival column to give arrival numbers. */
  arrivalBase: number;
  /** The serialized part, in shared memory. */
  bytes: Uint8Array;
  /** True where the part is a chunk that is ready for disk. */
  isPacked: boolean;
  /** When the rows were appended (the oldest of them, in a compacted part), in Unix milliseconds. */
  appendedMs: number;
  /** Rows that the journal holds for the part: more than `rows` where compaction dropped samples that came again. */
  journalRows: number;
}

/** One UTC day of one signal: its sealed chunks, which the manifest names, and its parts in memory. */
export interface Partition {
  readonly signal: Signal;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** The partition's folder, which need not exist yet. */
  readonly dir: string;
  /** Replaced by `Catalog.setManifest`; never changed in place. */
  readonly manifest: Manifest;
  readonly parts: readonly MemtablePart[];
}

interface StoredPartition extends Partition {
  manifest: Manifest;
  parts: MemtablePart[];
}

/** The partitions of one signal. */
interface SignalPartitions {
  readonly byDay: Map<number, StoredPartition>;
  /** In ascending order of days. */
  readonly list: StoredPartition[];
  readonly counts: SignalCounts;
}

/** Counts of one signal. */
export interface SignalCounts {
  /** Sealed and unsealed rows (samples, for metrics). */
  rows: number;
  /** Rows in memory that are not sealed into chunks yet. */
  unsealedRows: number;
  chunks: number;
  partitions: number;
  /** Stored bytes of the sealed chunks. */
  bytes: number;
}

export class Catalog {
  readonly #signals: Readonly<Record<Signal, SignalPartitions>>;
  /** Partitions that have parts. */
  readonly #unsealed = new Set<StoredPartition>();
  readonly #dir: string;
  readonly #arrivalTimes = new OldestArrivals();
  /** Filled when they are first asked for. */
  readonly #keysOfParts = new WeakMap<MemtablePart, ListedKeys>();
  #unsealedBytes = 0;
  #partNext = 1;
  readonly written = createWriteCounts();
  readonly quarantined = new QuarantinedChunks<Partition>();

  /** `dir`: the data folder. */
  constructor(dir: string) {
    this.#dir = dir;
    const each = signals.map((signal) => [signal, noPartitions()] as const);
    this.#signals = Object.fromEntries(each) as Record<Signal, SignalPartitions>;
  }

  /** Partitions of one signal, or of all; those of each signal in ascending order of days. */
  partitions(signal?: Signal): Partition[] {
    return signal === undefined
      ? Object.values(this.#signals).flatMap(({ list }) => list)
      : [...this.#signals[signal].list];
  }

  /** Partitions that have parts in memory. */
  unsealedPartitions(): Partition[] {
    return [...this.#unsealed];
  }

  /** Number of these partitions. */
  get unsealedDays(): number {
    return this.#unsealed.size;
  }

  /** Bytes of all parts in memory. */
  get unsealedBytes(): number {
    return this.#unsealedBytes;
  }

  /** Counts that are kept up to date, so that reading them costs nothing. */
  counts(signal: Signal): Readonly<SignalCounts> {
    return this.#signals[signal].counts;
  }

  /** Least arrival number of the rows in memory; infinite where there are none. */
  get unsealedArrivalMin(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const { parts } of this.#unsealed) {
      for (const { arrivalMin } of parts) if (arrivalMin < least) least = arrivalMin;
    }
    return least;
  }

  /**
   * The partition of a signal and day, added where there is none yet. Its folder is made when rows are first sealed
   * into it.
   */
  partition(signal: Signal, day: number): Partition {
    return this.#partition(signal, day);
  }

  /** The partition of a signal and day; undefined where there is none. */
  find(signal: Signal, day: number): Partition | undefined {
    return this.#signals[signal].byDay.get(day);
  }

  remove(partition: Partition): void {
    const { byDay, list, counts } = this.#signals[partition.signal];
    const stored = byDay.get(partition.day);
    if (stored === undefined) return;
    this.replaceParts(stored, stored.parts, []);
    this.setManifest(stored, emptyManifest(stored.day));
    byDay.delete(stored.day);
    list.splice(findDay(list, stored.day), 1);
    this.quarantined.forget(stored);
    counts.partitions--;
  }

  /** Sets what is sealed in a partition. */
  setManifest(partition: Partition, manifest: Manifest): void {
    const { counts } = this.#signals[partition.signal];
    countChunks(counts, partition.manifest, -1);
    countChunks(counts, manifest, 1);
    (partition as StoredPartition).manifest = manifest;
  }

  /** Replaces parts of a partition: by larger ones that hold the same rows, or by none once their rows are sealed. */
  replaceParts(partition: Partition, removed: readonly MemtablePart[], added: readonly MemtablePart[]): void {
    const stored = partition as StoredPartition;
    const gone = new Set(removed);
    stored.parts = [...stored.parts.filter((part) => !gone.has(part)), ...added];
    for (const part of removed) this.#countPart(stored, part, -1);
    for (const part of added) this.#countPart(stored, part, 1);
    if (stored.parts.length === 0) this.#unsealed.delete(stored);
    else this.#unsealed.add(stored);
  }

  /** Adds the parts of a journal record. A part whose rows are sealed already, as after a restart, is left out. */
  publish(record: JournalRecord): void {
    const frame = isInSharedMemory(record.frame) ? record.frame : copyToSharedMemory(record.frame);
    for (const { day, bytes } of openBatch(frame)) {
      const part = this.createPart(day, bytes, record.arrivalBase, record.appendedMs);
      const partition = this.#partition(record.signal, day);
      if (part.arrivalMin > partition.manifest.arrivalSealed) this.#addPart(partition, part);
      this.#arrivalTimes.record(record.signal, part.arrivalMax, day, part.timeNsMin);
    }
  }

  /** Reads the header of a serialized part. The part is not added to a partition. */
  createPart(day: number, bytes: Uint8Array, arrivalBase: number, appendedMs: number): MemtablePart {
    const { rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax } = readPartExtent(bytes);
    return {
      id: this.#partNext++,
      day,
      rows,
      timeNsMin,
      timeNsMax,
      arrivalMin: arrivalMin + arrivalBase,
      arrivalMax: arrivalMax + arrivalBase,
      arrivalBase,
      bytes,
      isPacked: isPackedPart(bytes),
      appendedMs,
      journalRows: rows,
    };
  }

  /** See `OldestArrivals.oldestMs`. */
  oldestMs(signal: Signal, arrival: number): number | undefined {
    return this.#arrivalTimes.oldestMs(signal, arrival);
  }

  /**
   * Every sealed chunk and part of a signal that may hold rows of [fromNs, toNs), newest first, as of the call. Where
   * they are many, other work runs while they are collected.
   */
  async findChunks(signal: Signal, fromNs: bigint, toNs: bigint): Promise<ChunkRef[]> {
    const days = this.#findDays(signal, fromNs, toNs);
    const found: ChunkRef[] = [];
    const turns = new Turns();
    for (const { partition, manifest, parts } of days) {
      const range = clampToDay(fromNs, toNs, partition.day);
      const refs = listChunks(partition, manifest, parts, range);
      refs.sort((a, b) => extentOf(b).timeNsMax - extentOf(a).timeNsMax);
      for (const ref of refs) found.push(ref);
      if (turns.isOver) await turns.next();
    }
    return found;
  }

  /**
   * Hides a chunk that cannot be read from every later search. Returns its entry, or undefined where it was hidden
   * already.
   */
  quarantine(signal: Signal, day: number, chunk: number): ChunkEntry | undefined {
    const partition = this.find(signal, day);
    const entry = partition?.manifest.chunks.find(({ id }) => id === chunk);
    if (partition === undefined || entry === undefined) return undefined;
    const chunks = partition.manifest.chunks.filter(({ id }) => id !== chunk);
    this.setManifest(partition, { ...partition.manifest, chunks });
    this.quarantined.add(partition, chunk);
    return entry;
  }

  /**
   * Attribute keys of the days that a time range touches, as far as manifests and part headers list them: those of the
   * newest days where there are very many.
   */
  attributeKeys(signal: Signal, fromNs: bigint, toNs: bigint): ListedKeys {
    const keys = new Set<string>();
    let isWhole = true;
    let visited = 0;
    const add = (listed: readonly string[]) => {
      for (const key of listed) keys.add(key);
      visited += listed.length;
    };
    for (const { manifest, parts } of this.#findDays(signal, fromNs, toNs)) {
      if (visited > visitedKeysMax || keys.size > listedKeysMax) return { keys: [...keys], isWhole: false };
      add(manifest.attributeKeys);
      isWhole &&= manifest.moreKeys !== true;
      for (const part of parts) {
        const listed = this.#listKeys(part);
        add(listed.keys);
        isWhole &&= listed.isWhole;
      }
    }
    return { keys: [...keys], isWhole };
  }

  #listKeys(part: MemtablePart): ListedKeys {
    const listed =
      this.#keysOfParts.get(part) ?? listAttributeKeys(openPart(part.bytes, 0).header.columns.all());
    this.#keysOfParts.set(part, listed);
    return listed;
  }

  #partition(signal: Signal, day: number): StoredPartition {
    const { byDay, list, counts } = this.#signals[signal];
    const known = byDay.get(day);
    if (known !== undefined) return known;
    const dir = join(this.#dir, partitionPath(signal, day));
    const partition: StoredPartition = { signal, day, dir, manifest: emptyManifest(day), parts: [] };
    byDay.set(day, partition);
    list.splice(findDay(list, day), 0, partition);
    counts.partitions++;
    return partition;
  }

  /** Adds one part in place: with many small parts, copying the list each time would take quadratic time. */
  #addPart(partition: StoredPartition, part: MemtablePart): void {
    partition.parts.push(part);
    this.#countPart(partition, part, 1);
    this.#unsealed.add(partition);
  }

  /** Counts by the journal, as the next start and `readInventory` do. */
  #countPart({ signal }: Partition, { journalRows, bytes }: MemtablePart, times: 1 | -1): void {
    const { counts } = this.#signals[signal];
    counts.rows += times * journalRows;
    counts.unsealedRows += times * journalRows;
    this.#unsealedBytes += times * bytes.byteLength;
  }

  /** The days that a range touches as they are now, newest first. */
  #findDays(signal: Signal, fromNs: bigint, toNs: bigint): DayContent[] {
    if (fromNs >= toNs) return [];
    const { list } = this.#signals[signal];
    const days: DayContent[] = [];
    const dayMin = dayOf(fromNs);
    for (let i = findDay(list, dayOf(toNs - 1n) + 1) - 1; i >= 0 && list[i]!.day >= dayMin; i--) {
      const partition = list[i]!;
      days.push({ partition, manifest: partition.manifest, parts: [...partition.parts] });
    }
    return days;
  }
}

/** What a partition held at one moment. */
interface DayContent {
  partition: Partition;
  manifest: Manifest;
  parts: readonly MemtablePart[];
}

/** Names in lists of attribute keys that one call visits, the same name on many days included. */
const visitedKeysMax = 500_000;
/** Different names that one call lists, some milliseconds of work: each query with an unknown name makes a list. */
const listedKeysMax = 20_000;

function noPartitions(): SignalPartitions {
  const counts = { rows: 0, unsealedRows: 0, chunks: 0, partitions: 0, bytes: 0 };
  return { byDay: new Map(), list: [], counts };
}

/** Index of the first partition that is not before a day. */
function findDay(list: readonly Partition[], day: number): number {
  let [from, to] = [0, list.length];
  // Most searches and nearly all new days are at the end.
  if (to > 0 && list[to - 1]!.day < day) return to;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (list[middle]!.day < day) from = middle + 1;
    else to = middle;
  }
  return from;
}

function countChunks(counts: SignalCounts, { chunks }: Manifest, times: 1 | -1): void {
  for (const { rows, bytes } of chunks) {
    counts.rows += times * rows;
    counts.bytes += times * bytes;
  }
  counts.chunks += times * chunks.length;
}

/** References to the chunks and parts that overlap a range of one day. */
function listChunks(
  { signal, day, dir }: Partition,
  manifest: Manifest,
  parts: readonly MemtablePart[],
  range: { from: number; to: number },
): ChunkRef[] {
  const refs: ChunkRef[] = [];
  for (const entry of manifest.chunks) {
    if (entry.timeNsMin < range.to && entry.timeNsMax >= range.from)
      refs.push({ kind: "sealed", signal, day, dir, entry });
  }
  for (const part of parts) {
    if (part.timeNsMin >= range.to || part.timeNsMax < range.from) continue;
    const { id, rows, bytes, timeNsMin, timeNsMax, arrivalBase, arrivalMin, arrivalMax } = part;
    const extent = { rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax };
    refs.push({ kind: "part", signal, day, id, bytes, arrivalBase, ...extent });
  }
  return refs;
}

/** Path of a partition inside the data folder. */
function partitionPath(signal: Signal, day: number): string {
  return join(signal, dayName(day));
}
