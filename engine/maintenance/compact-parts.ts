/**
 * Rewrites chunks of a partition as fewer, larger ones. Compacting parts, sealing and merging all use it, signal by
 * signal.
 */

import type { ChunkCaps } from "../chunk/chunk-caps.ts";
import { decodeChunks } from "../chunk/chunk-decoder.ts";
import { type EncodeOptions, encodeChunks } from "../chunk/chunk-encoder.ts";
import type { ChunkSource, EncodedChunk } from "../chunk/chunk-header.ts";
import { type PackedChunk, packChunk, rowsCompression, samplesCompression } from "../chunk/packed-chunk.ts";
import type { Compression } from "../files/zstd.ts";
import { compactSamples } from "../metrics/compact-samples.ts";
import type { Signal } from "../model/signal.ts";

/** How chunks of a signal are rewritten. */
interface Compaction {
  /** Encodes all rows of some chunks of one partition anew, in chunks within the size caps. Pure. */
  compact: (sources: readonly ChunkSource[], options: EncodeOptions) => EncodedChunk[];
  /** The cap on rows (samples, for metrics) of a chunk. */
  rowsCap: "rowsMax" | "samplesMax";
  compression: Compression;
}

const rowCompaction: Compaction = {
  compact: (sources, options) => encodeChunks(decodeChunks(sources), options),
  rowsCap: "rowsMax",
  compression: rowsCompression,
};

const sampleCompaction: Compaction = {
  compact: compactSamples,
  rowsCap: "samplesMax",
  compression: samplesCompression,
};

const compactions: Record<Signal, Compaction> = {
  logs: rowCompaction,
  traces: rowCompaction,
  metrics: sampleCompaction,
  profiles: rowCompaction,
  kubernetes_resources: rowCompaction,
};

/** Rows (samples, for metrics) of a full chunk. */
export function fullChunkRows(signal: Signal, caps: ChunkCaps): number {
  return caps[compactions[signal].rowsCap];
}

/** Encodes all rows of some chunks of one partition anew, in chunks within the size caps. Pure. */
export function compact(
  signal: Signal,
  sources: readonly ChunkSource[],
  options: EncodeOptions,
): EncodedChunk[] {
  return compactions[signal].compact(sources, options);
}

/** The same, sealed and compressed for disk. */
export function compactAndPack(
  signal: Signal,
  sources: readonly ChunkSource[],
  caps: ChunkCaps,
): PackedChunk[] {
  const { compression } = compactions[signal];
  return compact(signal, sources, { sealed: true, caps }).map((chunk) => packChunk(chunk, compression));
}
