/**
 * Values that can be read in pages. A value without compression can be read anywhere, but its checksum covers all of it; so
 * each page has a checksum, too. A search for an id needs a few bytes of each filter.
 */
import { crc32 } from "node:zlib";
import { Failure } from "../failure.ts";

/** Length of every page but the last. Part of the format. */
const pageBytes = 4_096;
/** Shorter values are read as a whole. */
export const pagedBytesMin = 64 * pageBytes;

/** Bytes [from, to) of a value. */
export interface ByteRange {
  from: number;
  to: number;
}

/** A value of which parts can be read. */
export interface ValuePages {
  /** Length of the value. */
  readonly byteLength: number;
  /**
   * The bytes of each range, valid until the next read of the thread. Throws Failure "damage" where a page is not what
   * was written, or a range passes the end.
   */
  read(ranges: readonly ByteRange[]): Uint8Array[];
}

/** The CRC-32 of each page as u32, little-endian, in base64. */
export function listPageChecksums(value: Uint8Array): string {
  const checksums = Buffer.alloc(Math.ceil(value.byteLength / pageBytes) * 4);
  for (let from = 0, at = 0; from < value.byteLength; from += pageBytes, at += 4)
    checksums.writeUInt32LE(crc32(value.subarray(from, from + pageBytes)), at);
  return checksums.toString("base64");
}

function readChecksums(base64: string): Uint32Array {
  const bytes = Buffer.from(base64, "base64");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Uint32Array.from({ length: bytes.byteLength >> 2 }, (_, i) => view.getUint32(4 * i, true));
}

/**
 * Reads ranges of a stored value. `isIntact` tells whether what was read is what was written; where it is not, the value may
 * have been moved meanwhile, and is read anew.
 */
export type ReadStoredParts = (
  ranges: readonly ByteRange[],
  isIntact: (read: readonly Uint8Array[]) => boolean,
) => readonly Uint8Array[];

/**
 * Reads ranges of a stored value, and checks each read once. Throws Failure "damage" with this problem where they are not what
 * was written.
 */
export function readIntact(
  read: ReadStoredParts,
  ranges: readonly ByteRange[],
  isIntact: (parts: readonly Uint8Array[]) => boolean,
  problem: string,
): readonly Uint8Array[] {
  // Whoever reads has checked most values already.
  let intact: readonly Uint8Array[] | undefined;
  const check = (parts: readonly Uint8Array[]): boolean => {
    if (!isIntact(parts)) return false;
    intact = parts;
    return true;
  };
  const parts = read(ranges, check);
  if (parts !== intact && !check(parts)) throw new Failure("damage", problem);
  return parts;
}

/**
 * Reads a value in pages.
 * @param byteLength length of the value
 * @param checksums as `listPageChecksums` returns them
 * @param where the value's name in errors
 */
export function openPages(
  byteLength: number,
  checksums: string,
  readStored: ReadStoredParts,
  where: string,
): ValuePages {
  const expected = readChecksums(checksums);
  const hasAll = expected.length * pageBytes >= byteLength;
  return {
    byteLength,
    read: (ranges) => {
      for (const { from, to } of ranges)
        if (from > to || to > byteLength || !hasAll)
          throw new Failure("damage", `${where}: it ends before what is looked for`);
      const runs = joinNear(ranges, byteLength);
      const areIntact = (read: readonly Uint8Array[]): boolean =>
        ranges.every((range, i) => {
          const run = runs.of[i]!;
          return isIntact(range, read[run]!, runs.ranges[run]!.from, expected);
        });
      const problem = `${where}: the checksum of a page does not match the bytes`;
      const read = readIntact(readStored, runs.ranges, areIntact, problem);
      return ranges.map(({ from, to }, i) => {
        const run = runs.of[i]!;
        return read[run]!.subarray(from - runs.ranges[run]!.from, to - runs.ranges[run]!.from);
      });
    },
  };
}

/** Ranges that are at most so far apart are read together: a call of the system costs about as much as copying the gap. */
const gapBytesMax = 8 * pageBytes;

/**
 * The pages of ranges; where these follow each other closely, they are read at once, in one run. `of`: for each range its
 * run.
 */
function joinNear(ranges: readonly ByteRange[], byteLength: number): { ranges: ByteRange[]; of: number[] } {
  const runs: ByteRange[] = [];
  const of: number[] = [];
  let last: ByteRange | undefined;
  for (const range of ranges) {
    const from = range.from - (range.from % pageBytes);
    const to = Math.min(Math.ceil(range.to / pageBytes) * pageBytes, byteLength);
    if (last !== undefined && from >= last.from && from - last.to <= gapBytesMax)
      last.to = Math.max(last.to, to);
    else {
      last = { from, to };
      runs.push(last);
    }
    of.push(runs.length - 1);
  }
  return { ranges: runs, of };
}

/** Whether the pages of a range are what was written. `run`: what was read from `runFrom` on. */
function isIntact({ from, to }: ByteRange, run: Uint8Array, runFrom: number, expected: Uint32Array): boolean {
  for (let page = Math.floor(from / pageBytes); page * pageBytes < to; page++) {
    const at = page * pageBytes - runFrom;
    if (crc32(run.subarray(at, at + pageBytes)) !== expected[page]) return false;
  }
  return true;
}
