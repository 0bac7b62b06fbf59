export interface ChunkEntry {
  id: number;
  rows: number;
  /** Nanoseconds since the start of the day. */
  timeNsMin: number;
  timeNsMax: number;
  arrivalMin: number;
  arrivalMax: number;
  /** Bytes of all its values as stored. */
  bytes: number;
  /** Checksum of its header's frame; the header holds those of the columns. */
  checksum: number;
}
