/** Rewrites chunks of metrics as fewer, larger ones. */
import type { EncodeOptions } from "../chunk/chunk-encoder.ts";
import type { ArrivalRange } from "../chunk/chunk-entry.ts";
import type { ChunkSource, EncodedChunk } from "../chunk/chunk-header.ts";
import { compareArrivals, decodeSampleChunks } from "./sample-chunk-decoder.ts";
import { encodeSampleChunks } from "./sample-chunk-encoder.ts";

/** Of samples of one series at one time the last to arrive is kept, whatever the order of `sources`. */
export function compactSamples(sources: readonly ChunkSource[], options: EncodeOptions): EncodedChunk[] {
  const byArrival = sources
    .map((source) => ({ source, ...arrivalsOf(source) }))
    .sort(compareArrivals)
    .map(({ source }) => source);
  return encodeSampleChunks(decodeSampleChunks(byArrival), options);
}

function arrivalsOf({ header, arrivalBase }: ChunkSource): ArrivalRange {
  return { arrivalMin: header.arrivalMin + arrivalBase, arrivalMax: header.arrivalMax + arrivalBase };
}
