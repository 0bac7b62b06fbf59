/** Chunks of a partition to fewer, larger ones: what joining, sealing and merging have in common, signal by signal. */

import { decodeChunks } from "../chunk/chunk-decoder.ts";
import { type EncodeOptions, encodeChunks } from "../chunk/chunk-encoder.ts";
import type { ChunkSource, EncodedChunk } from "../chunk/chunk-header.ts";
import { chunkRowsMax, chunkSamplesMax } from "../limits.ts";
import { compactSamples } from "../metrics/compact-samples.ts";
import type { Signal } from "../model/signal.ts";
import { type PackedChunk, packChunk } from "../partition/chunk-store.ts";

/** What background work does with the chunks of a signal. */
interface Compaction {
  /** All rows of some chunks of one partition, in images of at most a chunk's caps. Pure. */
  compact: (sources: readonly ChunkSource[], options: EncodeOptions) => EncodedChunk[];
  chunkRowsMax: number;
  zstdLevel: number;
}

const rowCompaction: Compaction = {
  compact: (sources, options) => encodeChunks(decodeChunks(sources), options),
  chunkRowsMax,
  // Fast to write and close to what higher levels reach on columns that are encoded already.
  zstdLevel: 3,
};

const sampleCompaction: Compaction = {
  compact: compactSamples,
  chunkRowsMax: chunkSamplesMax,
  // Samples are few bytes, so that the time does not weigh: 1.5 % smaller than level 3.
  zstdLevel: 9,
};

const compactions: Record<Signal, Compaction> = {
  logs: rowCompaction,
  traces: rowCompaction,
  metrics: sampleCompaction,
  profiles: rowCompaction,
  kubernetes_resources: rowCompaction,
};

/** Rows that fill a chunk. */
export function fullChunkRows(signal: Signal): number {
  return compactions[signal].chunkRowsMax;
}

/** All rows of some chunks of one partition, in images of at most a chunk's caps. Pure. */
export function compact(
  signal: Signal,
  sources: readonly ChunkSource[],
  options: EncodeOptions,
): EncodedChunk[] {
  return compactions[signal].compact(sources, options);
}

/** The same, packed for disk. */
export function compactAndPack(signal: Signal, sources: readonly ChunkSource[]): PackedChunk[] {
  const { zstdLevel } = compactions[signal];
  return compact(signal, sources, { sealed: true }).map((chunk) => packChunk(chunk, zstdLevel));
}
