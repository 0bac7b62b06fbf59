/** A sealed chunk as the manifest of its partition lists it. */
export interface ChunkEntry {
  /** Number of the chunk, unique within its partition. */
  id: number;
  rows: number;
  /** Nanoseconds since the start of the day. */
  timeNsMin: number;
  timeNsMax: number;
  arrivalMin: number;
  arrivalMax: number;
  /** Stored bytes of all its values, frames included. */
  bytes: number;
  /** Checksum of the header's frame; the header holds the checksums of the columns. */
  checksum: number;
}
