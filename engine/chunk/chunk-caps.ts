/** How large chunks become. Smaller caps make smaller chunks, which take less memory to encode and to scan. */
import { chunkMessageBytesMax, chunkRowsMax, chunkSamplesMax } from "../limits.ts";

/** Limits on the size of a chunk. */
export interface ChunkCaps {
  rowsMax: number;
  /** Bytes of messages. Where rows are long, this bounds the memory of one task. */
  messageBytesMax: number;
  /** Samples of a chunk of metrics. */
  samplesMax: number;
}

/** The largest chunks that are made. */
export const fullChunkCaps: ChunkCaps = {
  rowsMax: chunkRowsMax,
  messageBytesMax: chunkMessageBytesMax,
  samplesMax: chunkSamplesMax,
};
