/** What the store holds at this moment: partitions, their chunks, and the images that are not sealed yet. */
import { join } from "node:path";
import { openBatch, sharedCopy } from "./batch.ts";
import { type ListedKeys, listedKeys, openImage } from "./chunk.ts";
import { dayName } from "./day.ts";
import { type ChunkEntry, emptyManifest, type Manifest } from "./manifest.ts";
import type { ChunkRef } from "./protocol.ts";
import { rangeInDay } from "./range.ts";
import type { JournalRecord } from "./record.ts";

/** A chunk in memory, of rows that the journal holds. */
export interface ImageEntry {
  id: number;
  day: number;
  rows: number;
  timeNsMin: number;
  timeNsMax: number;
  arrivalMin: number;
  arrivalMax: number;
  /** What the arrival column's numbers count from. */
  arrivalBase: number;
  /** In shared memory. */
  bytes: Uint8Array;
  attributeKeys: ListedKeys;
  appendedMs: number;
}

export interface Partition {
  day: number;
  dir: string;
  manifest: Manifest;
  images: ImageEntry[];
}

export class Catalog {
  readonly partitions = new Map<number, Partition>();
  readonly #dir: string;
  #imageNext = 1;

  /** `dir`: the folder of the signal's partitions. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  partition(day: number): Partition {
    let partition = this.partitions.get(day);
    if (partition === undefined) {
      partition = { day, dir: join(this.#dir, dayName(day)), manifest: emptyManifest(day), images: [] };
      this.partitions.set(day, partition);
    }
    return partition;
  }

  /** Adds a batch's images, except those whose rows are in sealed chunks already, as after a restart. */
  publish(record: JournalRecord): void {
    // A batch that was read back from the journal's file is not in shared memory yet.
    const frame = record.frame.buffer instanceof SharedArrayBuffer ? record.frame : sharedCopy(record.frame);
    for (const { day, bytes } of openBatch(frame)) {
      const entry = this.imageEntry(day, bytes, record.arrivalBase, record.appendedMs);
      const partition = this.partition(day);
      if (entry.arrivalMin > partition.manifest.arrivalSealed) partition.images.push(entry);
    }
  }

  imageEntry(day: number, bytes: Uint8Array, arrivalBase: number, appendedMs: number): ImageEntry {
    const { header } = openImage(bytes, arrivalBase);
    return {
      id: this.#imageNext++,
      day,
      rows: header.rows,
      timeNsMin: header.timeNsMin,
      timeNsMax: header.timeNsMax,
      arrivalMin: header.arrivalMin + arrivalBase,
      arrivalMax: header.arrivalMax + arrivalBase,
      arrivalBase,
      bytes,
      attributeKeys: listedKeys(header),
      appendedMs,
    };
  }

  /** Every chunk that may hold rows of [fromNs, toNs), newest first. */
  chunksIn(fromNs: bigint, toNs: bigint): ChunkRef[] {
    const refs: { ref: ChunkRef; timeNsMax: number }[] = [];
    for (const partition of this.partitions.values()) {
      const { day, dir } = partition;
      const range = rangeInDay(fromNs, toNs, day);
      const overlaps = (entry: { timeNsMin: number; timeNsMax: number }) =>
        entry.timeNsMin < range.to && entry.timeNsMax >= range.from;
      for (const entry of partition.manifest.chunks.filter(overlaps)) {
        refs.push({ ref: { kind: "sealed", day, dir, entry }, timeNsMax: entry.timeNsMax });
      }
      for (const { id, rows, bytes, arrivalBase, timeNsMax } of partition.images.filter(overlaps)) {
        refs.push({ ref: { kind: "image", day, id, rows, bytes, arrivalBase }, timeNsMax });
      }
    }
    refs.sort((a, b) => b.ref.day - a.ref.day || b.timeNsMax - a.timeNsMax);
    return refs.map(({ ref }) => ref);
  }

  /** Takes a chunk that cannot be read out of every later search; returns its entry if it was still there. */
  setAside(day: number, chunk: number): ChunkEntry | undefined {
    const partition = this.partitions.get(day);
    const entry = partition?.manifest.chunks.find(({ id }) => id === chunk);
    if (partition === undefined || entry === undefined) return undefined;
    const chunks = partition.manifest.chunks.filter(({ id }) => id !== chunk);
    partition.manifest = { ...partition.manifest, chunks };
    return entry;
  }

  images(): ImageEntry[] {
    return [...this.partitions.values()].flatMap((partition) => partition.images);
  }

  /** Attribute keys of rows in a range of time, as far as the manifests list them. */
  attributeKeys(fromNs: bigint, toNs: bigint): ListedKeys {
    const keys = new Set<string>();
    let isWhole = true;
    for (const { day, manifest, images } of this.partitions.values()) {
      const range = rangeInDay(fromNs, toNs, day);
      if (range.from >= range.to) continue;
      for (const key of manifest.attributeKeys) keys.add(key);
      isWhole &&= manifest.moreKeys !== true;
      for (const { attributeKeys } of images) {
        for (const key of attributeKeys.keys) keys.add(key);
        isWhole &&= attributeKeys.isWhole;
      }
    }
    return { keys: [...keys], isWhole };
  }
}
