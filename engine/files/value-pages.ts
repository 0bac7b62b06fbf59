/**
 * Values that can be read in pages. A value without compression can be read anywhere, but its checksum covers all of it; so
 * each page has a checksum, too. A search for an id needs a few bytes of each filter.
 */
import { crc32 } from "node:zlib";
import { Failure } from "../failure.ts";

/** Length of every page but the last. Part of the format. */
const pageBytes = 4_096;
/** Shorter values are read as a whole. */
export const pagedBytesMin = 4 * pageBytes;

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

/**
 * Reads a value in pages.
 * @param byteLength length of the value
 * @param checksums as `listPageChecksums` returns them
 * @param readStored reads ranges of the stored value, each of whole pages
 * @param where the value's name in errors
 */
export function openPages(
  byteLength: number,
  checksums: string,
  readStored: (ranges: readonly ByteRange[]) => Uint8Array[],
  where: string,
): ValuePages {
  const expected = Buffer.from(checksums, "base64");
  const checkPages = (bytes: Uint8Array, from: number): void => {
    for (let at = 0, i = (from / pageBytes) * 4; at < bytes.byteLength; at += pageBytes, i += 4) {
      if (crc32(bytes.subarray(at, at + pageBytes)) !== expected.readUInt32LE(i))
        throw new Failure("damage", `${where}: the checksum of a page does not match the bytes`);
    }
  };
  const toPages = ({ from, to }: ByteRange): ByteRange => {
    if (from > to || to > byteLength || (expected.byteLength >> 2) * pageBytes < byteLength)
      throw new Failure("damage", `${where}: it ends before what is looked for`);
    const pagesTo = Math.ceil(to / pageBytes) * pageBytes;
    return { from: from - (from % pageBytes), to: Math.min(pagesTo, byteLength) };
  };
  return {
    byteLength,
    read: (ranges) => {
      const pages = ranges.map(toPages);
      return readStored(pages).map((bytes, i) => {
        checkPages(bytes, pages[i]!.from);
        const { from, to } = ranges[i]!;
        return bytes.subarray(from - pages[i]!.from, to - pages[i]!.from);
      });
    },
  };
}
