/** Chunks whose columns are compressed and framed for disk. */

import { constants as zlibConstants } from "node:zlib";
import { findTextCuts } from "../column/text-blocks.ts";
import { isInBlocks, type PackedFrame, packFrame } from "../files/frame.ts";
import { listPageChecksums, pagedBytesMin } from "../files/value-pages.ts";
import { type Compression, compressionOfLevel } from "../files/zstd.ts";
import type { ChunkHeader, ColumnHeader, EncodedChunk } from "./chunk-header.ts";

/** Length of the LMDB key of a value of a chunk. */
export const chunkKeyBytes = 8;

/**
 * Rows: their columns are encoded already, so what still repeats is whole ids and texts. A fast search for repetitions
 * of seven bytes and more, among 131,072 places of the last 4 MiB, takes two thirds of the time of level 3, and 0 to 1 %
 * less disk.
 */
export const rowsCompression: Compression = {
  ...compressionOfLevel(2),
  [zlibConstants.ZSTD_c_strategy]: zlibConstants.ZSTD_fast,
  [zlibConstants.ZSTD_c_minMatch]: 7,
  [zlibConstants.ZSTD_c_hashLog]: 17,
  [zlibConstants.ZSTD_c_windowLog]: 22,
};
/** Samples: 1.5 % smaller than at level 3. They take so few bytes that the extra time does not matter. */
export const samplesCompression = compressionOfLevel(9);

/** A chunk whose columns are compressed. It has no chunk number yet, so its frames still lack key and checksum. */
export interface PackedChunk {
  header: ChunkHeader;
  /** For each column its payload and, if it has one, its membership filter. */
  columns: { payload: PackedFrame; filter: PackedFrame | undefined }[];
}

/** Compresses the columns of a chunk, which is most of the work of sealing. Pure. */
export function packChunk(
  { header, payloads, filters }: EncodedChunk,
  compression: Compression,
): PackedChunk {
  const columns: PackedChunk["columns"] = [];
  const described: ColumnHeader[] = [];
  for (const [i, column] of header.columns.entries()) {
    const filter = filters[i];
    const isPaged = filter !== undefined && isVariables(column) && column.filterBytes >= pagedBytesMin;
    const cuts = column.encoding === "text" ? findTextCuts(payloads[i]!) : [];
    const payload = packFrame(chunkKeyBytes, payloads[i]!, { compression, cuts });
    const ofFilter = isVariables(column) ? {} : { compression };
    columns.push({ payload, filter: filter && packFrame(chunkKeyBytes, filter, ofFilter) });
    described.push({
      ...column,
      ...(isPaged ? { filterPages: listPageChecksums(filter) } : {}),
      ...(isInBlocks(payload) ? { blocks: cuts.length + 1 } : {}),
    });
  }
  return { header: { ...header, columns: described }, columns };
}

/** The filter of such a column is a membership filter for the most part, which cannot be compressed. */
function isVariables({ role }: ColumnHeader): boolean {
  return role === "variables";
}
