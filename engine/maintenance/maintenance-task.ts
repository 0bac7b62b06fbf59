/** Tasks of the maintenance thread and their answers. */
import type { ChunkCaps } from "../chunk/chunk-caps.ts";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { DamagedChunk, PartBytes } from "../chunk/chunk-ref.ts";
import type { PackedChunk } from "../chunk/packed-chunk.ts";
import type { DamageReport } from "../model/damage-report.ts";
import type { Signal } from "../model/signal.ts";
import type { Manifest } from "../partition/manifest.ts";

/**
 * `compact-parts`: compacts parts of one day into a larger one. Answer: the serialized parts, `Uint8Array[]`.
 * `encode-parts`: encodes parts of one day as chunks. Answer: `PackedChunk[]`.
 */
export interface PartsTask {
  kind: "compact-parts" | "encode-parts";
  signal: Signal;
  parts: PartBytes[];
  caps: ChunkCaps;
}

/** A task in the folder of one partition. */
interface PartitionTask {
  dir: string;
  day: number;
}

/** A chunk that only lacks its number, or a packed part, which is one. */
export type ChunkToSeal = PackedChunk | PartBytes;

/** Writes chunks to a partition. Answer: its new `Manifest`. */
export interface SealTask extends PartitionTask {
  kind: "seal";
  chunks: ChunkToSeal[];
  /** Every row of the day up to this arrival number is in the chunks or in the partition already. */
  arrivalSealed: number;
}

/**
 * Rewrites some chunks of a partition as fewer, larger ones. Answer: `MergeAnswer`. The old values stay until a
 * `CollectGarbageTask` removes them.
 */
export interface MergeTask extends PartitionTask {
  kind: "merge";
  signal: Signal;
  chunks: ChunkEntry[];
  caps: ChunkCaps;
}

export interface MergeAnswer {
  manifest: Manifest;
  /** Numbers of the chunks that the new ones replace; none where merging them saves too little. */
  merged: number[];
  /** Chunks that could not be read; they were left as they are. */
  damaged: DamagedChunk[];
}

/** Removes chunks from the manifest, then their values. Answer: the new `Manifest`. */
export interface CollectGarbageTask extends PartitionTask {
  kind: "collect-garbage";
  chunks: number[];
}

/**
 * `inspect`: checks a partition at start, and repairs it where it is damaged. `repair`: repairs a partition that other
 * work found damaged. Answer: `InspectAnswer`.
 */
export interface InspectTask extends PartitionTask {
  kind: "inspect" | "repair";
}

/**
 * Finds out which of the quarantined chunks of a running store can be read after all: a read error is over, or the
 * partition's tree was damaged, and is repaired by this. Answer: `RecheckAnswer`.
 */
export interface RecheckTask extends PartitionTask {
  kind: "recheck";
  chunks: number[];
}

export interface RecheckAnswer extends InspectAnswer {
  /** Which of the task's chunks are whole. */
  whole: number[];
}

/** Finds out what a seal that failed left in the partition, and makes that durable. Answer: the `Manifest`. */
export interface ConfirmSealTask extends PartitionTask {
  kind: "confirm-seal";
  /** Up to which arrival number rows were sealed before. */
  arrivalSealed: number;
}

/** Removes a partition's folder. No answer. */
interface DropTask {
  kind: "drop";
  dir: string;
}

/** The manifest after the check or repair, and the damage that was found. */
export interface InspectAnswer {
  manifest: Manifest;
  damage: DamageReport[];
}

export type MaintenanceTask =
  | PartsTask
  | SealTask
  | ConfirmSealTask
  | MergeTask
  | CollectGarbageTask
  | InspectTask
  | RecheckTask
  | DropTask;
