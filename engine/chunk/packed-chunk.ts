/** Chunks whose columns are compressed and framed for disk. */

import { type PackedFrame, packFrame } from "../files/frame.ts";
import type { ChunkHeader, EncodedChunk } from "./chunk-header.ts";

/** Length of the LMDB key of a value of a chunk. */
export const chunkKeyBytes = 8;

/** Level for rows: fast to write. Their columns are encoded already, so higher levels save little more. */
export const rowsZstdLevel = 3;
/** Level for samples: 1.5 % smaller than level 3. They take so few bytes that the extra time does not matter. */
export const samplesZstdLevel = 9;

/** A chunk whose columns are compressed. It has no chunk number yet, so its frames still lack key and checksum. */
export interface PackedChunk {
  header: ChunkHeader;
  /** For each column its payload and, if it has one, its membership filter. */
  columns: { payload: PackedFrame; filter: PackedFrame | undefined }[];
}

/** Compresses the columns of a chunk, which is most of the work of sealing. Pure. */
export function packChunk({ header, payloads, filters }: EncodedChunk, zstdLevel: number): PackedChunk {
  const columns = payloads.map((payload, i) => {
    const filter = filters[i];
    return {
      payload: packFrame(chunkKeyBytes, payload, { zstdLevel }),
      filter: filter === undefined ? undefined : packFrame(chunkKeyBytes, filter, { zstdLevel }),
    };
  });
  return { header, columns };
}
