/** Chunks of metrics to fewer, larger ones. */
import type { BuildOptions } from "../chunk/chunk-encoder.ts";
import type { ChunkImage, ChunkSource } from "../chunk/chunk-header.ts";
import { byArrival, metricDraftOf } from "./sample-chunk-decoder.ts";
import { buildMetricChunks } from "./sample-chunk-encoder.ts";

/** Of samples of one series at one time that stays which came last, whatever the order of the chunks. */
export function compactSamples(sources: readonly ChunkSource[], options: BuildOptions): ChunkImage[] {
  const inOrder = sources
    .map((source) => ({ source, ...arrivalsOf(source) }))
    .sort(byArrival)
    .map(({ source }) => source);
  return buildMetricChunks(metricDraftOf(inOrder), options);
}

function arrivalsOf({ header, arrivalBase }: ChunkSource): { arrivalMin: number; arrivalMax: number } {
  return { arrivalMin: header.arrivalMin + arrivalBase, arrivalMax: header.arrivalMax + arrivalBase };
}
