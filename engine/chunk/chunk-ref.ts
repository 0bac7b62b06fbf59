import { Failure } from "../failure.ts";
import type { DamageReport } from "../model/damage-report.ts";
import type { Signal } from "../model/signal.ts";
import type { ChunkEntry } from "./chunk-entry.ts";
import type { ChunkView } from "./chunk-view.ts";

/** A chunk that a scan reads: sealed, or an image in shared memory. */
export type ChunkRef = { signal: Signal; day: number } & (
  | { kind: "sealed"; dir: string; entry: ChunkEntry }
  | {
      kind: "part";
      id: number;
      rows: number;
      bytes: Uint8Array;
      timeNsMin: number;
      timeNsMax: number;
      arrivalBase: number;
      arrivalMin: number;
      arrivalMax: number;
    }
);

/** A sealed chunk that could not be read. */
export interface DamagedChunk extends DamageReport {
  signal: Signal;
  day: number;
  chunk: number;
}

export interface PartBytes {
  bytes: Uint8Array;
  arrivalBase: number;
}

export type SealedChunkRef = Extract<ChunkRef, { kind: "sealed" }>;

/** Tells a chunk from others of its folder. */
export function chunkVersion({ id, checksum }: SealedChunkRef["entry"]): string {
  return `${id}/${checksum}`;
}

export type OpenChunkView = (ref: ChunkRef) => ChunkView;

/** The report of a sealed chunk that cannot be read; every other error is thrown on. */
export function toDamagedChunk(ref: ChunkRef, error: unknown): DamagedChunk {
  if (ref.kind !== "sealed" || !(error instanceof Failure) || error.kind !== "damage") throw error;
  return {
    signal: ref.signal,
    day: ref.day,
    chunk: ref.entry.id,
    where: `${ref.dir} chunk ${ref.entry.id}`,
    problem: error.message,
  };
}

/** Arrival numbers of a chunk's rows: the first and the last. */
export function arrivalRange(ref: ChunkRef): { min: number; max: number } {
  const { arrivalMin, arrivalMax } = ref.kind === "sealed" ? ref.entry : ref;
  return { min: arrivalMin, max: arrivalMax };
}

/** Rows of a chunk and its bytes as stored. */
export function chunkSize(ref: ChunkRef): { rows: number; bytes: number } {
  return ref.kind === "sealed" ? ref.entry : { rows: ref.rows, bytes: ref.bytes.byteLength };
}
