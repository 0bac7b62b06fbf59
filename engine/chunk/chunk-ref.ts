/** References to chunks, as tasks carry them between threads. */
import { isDamage } from "../failure.ts";
import type { DamageReport } from "../model/damage-report.ts";
import type { Signal } from "../model/signal.ts";
import type { ChunkEntry, ChunkExtent } from "./chunk-entry.ts";
import type { ChunkView } from "./chunk-view.ts";

/**
 * A chunk that a scan reads: a sealed one, or a part in shared memory. Times are nanoseconds since the start of the
 * day.
 */
export type ChunkRef = { signal: Signal; day: number } & (
  | { kind: "sealed"; dir: string; entry: ChunkEntry }
  | ({ kind: "part"; id: number } & PartBytes & ChunkExtent)
);

/** A sealed chunk that could not be read, and why. */
export interface DamagedChunk extends DamageReport {
  signal: Signal;
  day: number;
  chunk: number;
}

/** A serialized part as a task carries it. */
export interface PartBytes {
  bytes: Uint8Array;
  /** Added to the numbers of the arrival column. */
  arrivalBase: number;
}

/** Bytes of parts together. */
export function sumPartBytes(parts: readonly Pick<PartBytes, "bytes">[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}

export type SealedChunkRef = Extract<ChunkRef, { kind: "sealed" }>;

/** Identifies a chunk's content within its partition: chunk numbers are used again after a partition was removed. */
export function chunkIdentity({ id, checksum }: SealedChunkRef["entry"]): string {
  return `${id}/${checksum}`;
}

/** Opens a chunk on the calling thread. The view must be closed. Throws Failure "damage". */
export type OpenChunkView = (ref: ChunkRef) => ChunkView;

/** Turns Failure "damage" of a sealed chunk into a report. Throws every other error again. */
export function toDamagedChunk(ref: ChunkRef, error: unknown): DamagedChunk {
  if (ref.kind !== "sealed" || !isDamage(error)) throw error;
  const { signal, day, dir, entry } = ref;
  return { signal, day, chunk: entry.id, where: `${dir} chunk ${entry.id}`, problem: error.message };
}

/** How far the rows of a chunk reach. */
export function extentOf(ref: ChunkRef): ChunkExtent {
  return ref.kind === "sealed" ? ref.entry : ref;
}

/** Rows of a chunk, and its bytes as stored (sealed) or in memory (part). */
export function chunkSize(ref: ChunkRef): { rows: number; bytes: number } {
  return ref.kind === "sealed" ? ref.entry : { rows: ref.rows, bytes: ref.bytes.byteLength };
}
