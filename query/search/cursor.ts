import { crc32 } from "node:zlib";
import type { RowOrder, RowPosition } from "../../engine/index.ts";
import { QueryError } from "../text/query-error.ts";

/*
 * A cursor is the position of the last row that was returned, in base64url:
 *
 *   offset  size  content
 *   0       1     order: 1 newest first, 2 oldest first
 *   1       8     nanoseconds since the epoch, signed, big endian
 *   9       8     number of the row in order of arrival, unsigned, big endian
 *   17      4     CRC-32 of the bytes before it
 */
const orders = { newest: 1, oldest: 2 } as const;
const size = 21;

/** The cursor of a position, which `readCursor` reads back. */
export function writeCursor(position: RowPosition, order: RowOrder): string {
  const bytes = Buffer.alloc(size);
  bytes.writeUInt8(orders[order], 0);
  bytes.writeBigInt64BE(position.timeNs, 1);
  bytes.writeBigUInt64BE(BigInt(position.arrival), 9);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 17)), 17);
  return bytes.toString("base64url");
}

/** The position in a cursor. Throws a QueryError for a text that `writeCursor` did not write for this order. */
export function readCursor(cursor: string, order: RowOrder): RowPosition {
  const bytes = readBytes(cursor);
  if (bytes === undefined)
    throw new QueryError(
      "cursor: expected the cursor of an earlier answer, unchanged, or none to begin with the first row",
    );
  if (bytes[0] !== orders[order])
    throw new QueryError("cursor: it is of an answer in the other order; send it with the same order");
  return positionIn(bytes);
}

/** The id of a row, by which `readRowId` finds its place again. */
export function writeRowId(position: RowPosition): string {
  return writeCursor(position, "newest");
}

/** The place of the row with an id. Throws a QueryError for a text that is none. */
export function readRowId(id: string): RowPosition {
  const bytes = readBytes(id);
  if (bytes?.[0] === orders.newest) return positionIn(bytes);
  throw new QueryError("id: expected the id of a row of an earlier answer, unchanged");
}

/** The bytes of a cursor; undefined for another text. */
function readBytes(cursor: string): Buffer | undefined {
  const bytes = Buffer.from(cursor.slice(0, 2 * size), "base64url");
  const isSound = bytes.length === size && bytes.toString("base64url") === cursor;
  return isSound && bytes.readUInt32BE(17) === crc32(bytes.subarray(0, 17)) ? bytes : undefined;
}

function positionIn(bytes: Buffer): RowPosition {
  return { timeNs: bytes.readBigInt64BE(1), arrival: Number(bytes.readBigUInt64BE(9)) };
}
