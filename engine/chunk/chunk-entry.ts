/** How far the rows of a chunk reach. */
export interface ChunkExtent {
  /** Rows; samples in a chunk of metrics. */
  rows: number;
  /** Nanoseconds since the start of the partition's day. */
  timeNsMin: number;
  timeNsMax: number;
  arrivalMin: number;
  arrivalMax: number;
}

/** Least and greatest arrival number. */
export type ArrivalRange = Pick<ChunkExtent, "arrivalMin" | "arrivalMax">;

/** A sealed chunk as the manifest of its partition lists it. */
export interface ChunkEntry extends ChunkExtent {
  /** Number of the chunk, unique within its partition. */
  id: number;
  /** Stored bytes of all its values, frames included. */
  bytes: number;
  /** Checksum of the header's frame; the header holds the checksums of the columns. */
  checksum: number;
}

/**
 * The entry of a chunk with this header. The order of the members is the order in the stored manifest.
 * @param header `arrivalBase` is added to its arrival numbers
 */
export function makeChunkEntry(
  chunk: Omit<ChunkEntry, keyof ChunkExtent>,
  header: ChunkExtent & { arrivalBase?: number },
): ChunkEntry {
  const { id, bytes, checksum } = chunk;
  const { rows, timeNsMin, timeNsMax, arrivalBase = 0 } = header;
  const [arrivalMin, arrivalMax] = [header.arrivalMin + arrivalBase, header.arrivalMax + arrivalBase];
  return { id, rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax, bytes, checksum };
}
