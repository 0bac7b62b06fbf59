import { crc32 } from "node:zlib";
import type { RowPosition } from "../../engine/index.ts";
import { QueryError } from "../text/query-error.ts";

/*
 * A cursor is the position of the last row that was returned, in base64url:
 *
 *   offset  size  content
 *   0       1     version, 1
 *   1       8     nanoseconds since the epoch, signed, big endian
 *   9       8     number of the row in order of arrival, unsigned, big endian
 *   17      4     CRC-32 of the bytes before it
 */
const version = 1;
const size = 21;

/** The cursor of a position, which `readCursor` reads back. */
export function writeCursor(position: RowPosition): string {
  const bytes = Buffer.alloc(size);
  bytes.writeUInt8(version, 0);
  bytes.writeBigInt64BE(position.timeNs, 1);
  bytes.writeBigUInt64BE(BigInt(position.arrival), 9);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 17)), 17);
  return bytes.toString("base64url");
}

/** The position in a cursor. Throws a QueryError for a text that `writeCursor` did not write. */
export function readCursor(cursor: string): RowPosition {
  const bytes = Buffer.from(cursor.slice(0, 2 * size), "base64url");
  const isSound = bytes.length === size && bytes.toString("base64url") === cursor && bytes[0] === version;
  if (!isSound || bytes.readUInt32BE(17) !== crc32(bytes.subarray(0, 17))) {
    throw new QueryError(
      "cursor: expected the cursor of an earlier answer, unchanged, or none to begin with the newest row",
    );
  }
  return { timeNs: bytes.readBigInt64BE(1), arrival: Number(bytes.readBigUInt64BE(9)) };
}
