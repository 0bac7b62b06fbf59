/** Chunks of metrics to fewer, larger ones. */
import type { EncodeOptions } from "../chunk/chunk-encoder.ts";
import type { ChunkSource, EncodedChunk } from "../chunk/chunk-header.ts";
import { compareArrivals, decodeSampleChunks } from "./sample-chunk-decoder.ts";
import { encodeSampleChunks } from "./sample-chunk-encoder.ts";

/** Of samples of one series at one time that stays which came last, whatever the order of the chunks. */
export function compactSamples(sources: readonly ChunkSource[], options: EncodeOptions): EncodedChunk[] {
  const inOrder = sources
    .map((source) => ({ source, ...arrivalsOf(source) }))
    .sort(compareArrivals)
    .map(({ source }) => source);
  return encodeSampleChunks(decodeSampleChunks(inOrder), options);
}

function arrivalsOf({ header, arrivalBase }: ChunkSource): { arrivalMin: number; arrivalMax: number } {
  return { arrivalMin: header.arrivalMin + arrivalBase, arrivalMax: header.arrivalMax + arrivalBase };
}
