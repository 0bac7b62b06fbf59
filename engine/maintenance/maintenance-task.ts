import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { DamagedChunk, PartBytes } from "../chunk/chunk-ref.ts";
import type { DamageReport } from "../model/damage-report.ts";
import type { Signal } from "../model/signal.ts";
import type { PackedChunk } from "../partition/chunk-store.ts";
import type { Manifest } from "../partition/manifest.ts";

/** Joins images of one day to a larger one. */
export interface CompactPartsTask {
  kind: "compact-parts";
  signal: Signal;
  parts: PartBytes[];
}

/** Makes chunks of images of one day. */
export interface EncodePartsTask {
  kind: "encode-parts";
  signal: Signal;
  parts: PartBytes[];
}

/** Writes chunks to a partition. */
export interface SealTask {
  kind: "seal";
  dir: string;
  day: number;
  chunks: PackedChunk[];
  /** Every row of the day up to this arrival number is in the chunks or in the partition already. */
  arrivalSealed: number;
}

/** Writes some chunks of a partition anew as fewer, larger ones. The old values stay until they are swept. */
export interface MergeTask {
  kind: "merge";
  signal: Signal;
  dir: string;
  day: number;
  chunks: ChunkEntry[];
}

export interface MergeAnswer {
  manifest: Manifest;
  /** Chunks that the new ones stand for. */
  merged: number[];
  damaged: DamagedChunk[];
}

/** Removes chunks from the manifest, then their values. */
export interface CollectGarbageTask {
  kind: "collect-garbage";
  dir: string;
  day: number;
  chunks: number[];
}

/** Checks a partition at start and mends what can be mended; or mends it because other work found it damaged. */
export interface InspectTask {
  kind: "inspect" | "repair";
  dir: string;
  day: number;
}

/** Removes a partition's folder. */
interface DropTask {
  kind: "drop";
  dir: string;
}

export interface InspectAnswer {
  manifest: Manifest;
  damage: DamageReport[];
}

export type MaintenanceTask =
  | CompactPartsTask
  | EncodePartsTask
  | SealTask
  | MergeTask
  | CollectGarbageTask
  | InspectTask
  | DropTask;
