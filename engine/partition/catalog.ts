/**
 * The catalog: the partitions of an open store with their manifests, and the parts in memory that are not sealed yet.
 */
import { join } from "node:path";
import { copyToSharedMemory, isInSharedMemory, openBatch } from "../batch/batch.ts";
import type { ChunkEntry, ChunkExtent } from "../chunk/chunk-entry.ts";
import { type ListedKeys, listAttributeKeys, openPart } from "../chunk/chunk-header.ts";
import type { ChunkRef } from "../chunk/chunk-ref.ts";
import type { JournalRecord } from "../journal/journal-record.ts";
import { dayName } from "../model/day.ts";
import { clampToDay } from "../model/day-range.ts";
import type { Signal } from "../model/signal.ts";
import { OldestArrivals } from "./arrival-times.ts";
import { emptyManifest, type Manifest } from "./manifest.ts";

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
  attributeKeys: ListedKeys;
  /** When the rows were appended (the oldest of them, in a compacted part), in Unix milliseconds. */
  appendedMs: number;
}

/** One UTC day of one signal: its sealed chunks, which the manifest names, and its parts in memory. */
export interface Partition {
  signal: Signal;
  /** Days since 1970-01-01. */
  day: number;
  /** The partition's folder, which need not exist yet. */
  dir: string;
  manifest: Manifest;
  parts: MemtablePart[];
}

export class Catalog {
  /** By path inside the data folder. */
  readonly #partitions = new Map<string, Partition>();
  readonly #dir: string;
  readonly #arrivalTimes = new OldestArrivals();
  #partNext = 1;

  /** `dir`: the data folder. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Partitions of one signal, or of all. */
  partitions(signal?: Signal): Partition[] {
    const all = [...this.#partitions.values()];
    return signal === undefined ? all : all.filter((partition) => partition.signal === signal);
  }

  /**
   * The partition of a signal and day, added where there is none yet. Its folder is made when rows are first sealed
   * into it.
   */
  partition(signal: Signal, day: number): Partition {
    const name = partitionPath(signal, day);
    let partition = this.#partitions.get(name);
    if (partition === undefined) {
      partition = { signal, day, dir: join(this.#dir, name), manifest: emptyManifest(day), parts: [] };
      this.#partitions.set(name, partition);
    }
    return partition;
  }

  remove({ signal, day }: Partition): void {
    this.#partitions.delete(partitionPath(signal, day));
  }

  /** Adds the parts of a journal record. A part whose rows are sealed already, as after a restart, is left out. */
  publish(record: JournalRecord): void {
    const frame = isInSharedMemory(record.frame) ? record.frame : copyToSharedMemory(record.frame);
    for (const { day, bytes } of openBatch(frame)) {
      const part = this.createPart(day, bytes, record.arrivalBase, record.appendedMs);
      const partition = this.partition(record.signal, day);
      if (part.arrivalMin > partition.manifest.arrivalSealed) partition.parts.push(part);
      this.#arrivalTimes.record(record.signal, part.arrivalMax, day, part.timeNsMin);
    }
  }

  /** Reads the header of a serialized part. The part is not added to a partition. */
  createPart(day: number, bytes: Uint8Array, arrivalBase: number, appendedMs: number): MemtablePart {
    const { header } = openPart(bytes, arrivalBase);
    return {
      id: this.#partNext++,
      day,
      rows: header.rows,
      timeNsMin: header.timeNsMin,
      timeNsMax: header.timeNsMax,
      arrivalMin: header.arrivalMin + arrivalBase,
      arrivalMax: header.arrivalMax + arrivalBase,
      arrivalBase,
      bytes,
      attributeKeys: listAttributeKeys(header),
      appendedMs,
    };
  }

  /** See `OldestArrivals.oldestMs`. */
  oldestMs(signal: Signal, arrival: number): number | undefined {
    return this.#arrivalTimes.oldestMs(signal, arrival);
  }

  /** Every sealed chunk and part of a signal that may hold rows of [fromNs, toNs), newest first. */
  findChunks(signal: Signal, fromNs: bigint, toNs: bigint): ChunkRef[] {
    const refs: { ref: ChunkRef; timeNsMax: number }[] = [];
    for (const partition of this.partitions(signal)) {
      const { day, dir } = partition;
      const range = clampToDay(fromNs, toNs, day);
      const overlaps = (entry: { timeNsMin: number; timeNsMax: number }) =>
        entry.timeNsMin < range.to && entry.timeNsMax >= range.from;
      for (const entry of partition.manifest.chunks.filter(overlaps)) {
        refs.push({ ref: { kind: "sealed", signal, day, dir, entry }, timeNsMax: entry.timeNsMax });
      }
      for (const { id, rows, bytes, timeNsMin, timeNsMax, ...arrivals } of partition.parts.filter(overlaps)) {
        const { arrivalBase, arrivalMin, arrivalMax } = arrivals;
        const part = { id, rows, bytes, timeNsMin, timeNsMax, arrivalBase, arrivalMin, arrivalMax };
        refs.push({ ref: { kind: "part", signal, day, ...part }, timeNsMax });
      }
    }
    refs.sort((a, b) => b.ref.day - a.ref.day || b.timeNsMax - a.timeNsMax);
    return refs.map(({ ref }) => ref);
  }

  /**
   * Hides a chunk that cannot be read from every later search. Returns its entry, or undefined where it was hidden
   * already.
   */
  quarantine(signal: Signal, day: number, chunk: number): ChunkEntry | undefined {
    const partition = this.#partitions.get(partitionPath(signal, day));
    const entry = partition?.manifest.chunks.find(({ id }) => id === chunk);
    if (partition === undefined || entry === undefined) return undefined;
    const chunks = partition.manifest.chunks.filter(({ id }) => id !== chunk);
    partition.manifest = { ...partition.manifest, chunks };
    return entry;
  }

  parts(): MemtablePart[] {
    return this.partitions().flatMap((partition) => partition.parts);
  }

  /** Attribute keys of the days that a time range touches, as far as manifests and part headers list them. */
  attributeKeys(signal: Signal, fromNs: bigint, toNs: bigint): ListedKeys {
    const keys = new Set<string>();
    let isWhole = true;
    for (const { day, manifest, parts } of this.partitions(signal)) {
      const range = clampToDay(fromNs, toNs, day);
      if (range.from >= range.to) continue;
      for (const key of manifest.attributeKeys) keys.add(key);
      isWhole &&= manifest.moreKeys !== true;
      for (const { attributeKeys } of parts) {
        for (const key of attributeKeys.keys) keys.add(key);
        isWhole &&= attributeKeys.isWhole;
      }
    }
    return { keys: [...keys], isWhole };
  }
}

/** Path of a partition inside the data folder. */
function partitionPath(signal: Signal, day: number): string {
  return join(signal, dayName(day));
}
