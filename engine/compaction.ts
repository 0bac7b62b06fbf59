/** Chunks of a partition to fewer, larger ones: what joining, sealing and merging have in common, signal by signal. */
import { type BuildOptions, buildChunks } from "./build.ts";
import type { ChunkImage, ChunkSource } from "./chunk.ts";
import { Failure } from "./failure.ts";
import { draftOf } from "./redraft.ts";
import type { Signal } from "./signal.ts";

type Compact = (sources: readonly ChunkSource[], options: BuildOptions) => ChunkImage[];

const compactRows: Compact = (sources, options) => buildChunks(draftOf(sources), options);

const compactions: Record<Signal, Compact | undefined> = {
  logs: compactRows,
  traces: compactRows,
  metrics: undefined,
  profiles: compactRows,
  kubernetes_resources: compactRows,
};

/** Throws Failure "input" where rows of the signal cannot be stored. */
export function checkStorable(signal: Signal): void {
  compactionOf(signal);
}

/** All rows of some chunks of one partition, in images of at most a chunk's caps. Pure. */
export function compact(
  signal: Signal,
  sources: readonly ChunkSource[],
  options: BuildOptions,
): ChunkImage[] {
  return compactionOf(signal)(sources, options);
}

function compactionOf(signal: Signal): Compact {
  const compaction = compactions[signal];
  if (compaction === undefined) throw new Failure("input", `${signal} cannot be stored yet`);
  return compaction;
}
