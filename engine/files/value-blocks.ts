/**
 * Payloads that are compressed in blocks, so that a part can be read without decompressing the rest. A table says how long
 * each block is and has its checksum; the blocks follow.
 *
 *  offset  size  what (integers little-endian)
 *       0     4  CRC-32 of the rest of the table
 *       4     4  number of blocks, n
 *       8   12n  of each block: bytes as stored, bytes of the payload, CRC-32 of the stored bytes
 *       …        the blocks; one whose two lengths are equal is not compressed
 */
import { crc32 } from "node:zlib";
import { Failure } from "../failure.ts";
import { type ByteRange, type ReadStoredParts, readIntact } from "./value-pages.ts";
import { type Compression, compress, decompress, decompressInto, freePayload } from "./zstd.ts";

const tableHeadBytes = 8;
const entryBytes = 12;

/** A block: its place among the stored bytes, and that of its bytes in the payload. */
interface Block {
  stored: ByteRange;
  payload: ByteRange;
  checksum: number;
}

/** A payload of which parts can be read. */
export interface ValueBlocks {
  /** Length of the payload. */
  readonly byteLength: number;
  /** Fills `target` with the payload's bytes from `from` on. Throws Failure "damage". */
  readInto(target: Uint8Array, from: number): void;
  /** The blocks, in order, as ranges of the payload. */
  readonly ranges: readonly ByteRange[];
}

/** @param cuts where in the payload each block but the first begins, ascending */
export function packBlocks(
  payload: Uint8Array,
  cuts: readonly number[],
  compression: Compression,
): Uint8Array {
  const starts = [0, ...cuts];
  const blocks = starts.map((from, i) => {
    const bytes = payload.subarray(from, starts[i + 1]);
    const compressed = compress(bytes, compression);
    return {
      payloadBytes: bytes.byteLength,
      stored: compressed.byteLength < bytes.byteLength ? compressed : bytes,
    };
  });
  const table = Buffer.alloc(tableBytes(blocks.length));
  table.writeUInt32LE(blocks.length, 4);
  for (const [i, { payloadBytes, stored }] of blocks.entries()) {
    const at = tableHeadBytes + i * entryBytes;
    table.writeUInt32LE(stored.byteLength, at);
    table.writeUInt32LE(payloadBytes, at + 4);
    table.writeUInt32LE(crc32(stored), at + 8);
  }
  table.writeUInt32LE(crc32(table.subarray(4)), 0);
  return Buffer.concat([table, ...blocks.map(({ stored }) => stored)]);
}

function tableBytes(blocks: number): number {
  return tableHeadBytes + blocks * entryBytes;
}

/** The whole payload. Throws Failure "damage" where `stored` is not a payload of this length in blocks. */
export function unpackBlocks(stored: Uint8Array, payloadBytes: number, where: string): Uint8Array {
  const count = stored.byteLength < tableHeadBytes ? 0 : viewOf(stored).getUint32(4, true);
  const read: ReadStoredParts = (ranges) => ranges.map(({ from, to }) => stored.subarray(from, to));
  const blocks = openBlocks(payloadBytes, count, read, where);
  const payload = new Uint8Array(payloadBytes);
  blocks.readInto(payload, 0);
  return payload;
}

/**
 * Opens a payload that was compressed in blocks. Throws Failure "damage" where its table does not say the same of it.
 * @param payloadBytes length of the payload
 * @param count number of its blocks
 * @param read reads ranges of what `packBlocks` returned
 * @param where the value's name in errors
 */
export function openBlocks(
  payloadBytes: number,
  count: number,
  read: ReadStoredParts,
  where: string,
): ValueBlocks {
  const blocks = readTable(payloadBytes, count, read, where);
  return {
    byteLength: payloadBytes,
    ranges: blocks.map(({ payload }) => payload),
    readInto: (target, from) => {
      const to = from + target.byteLength;
      for (const block of blocks) {
        const { payload } = block;
        const begin = Math.max(from, payload.from);
        const end = Math.min(to, payload.to);
        if (begin >= end) continue;
        const part = target.subarray(begin - from, end - from);
        unpackBlockInto(part, block, readBlock(block, read, where), begin - payload.from, where);
      }
    },
  };
}

function readTable(payloadBytes: number, count: number, read: ReadStoredParts, where: string): Block[] {
  const isTable = ([table]: readonly Uint8Array[]): boolean => {
    if (table === undefined || table.byteLength < tableBytes(count)) return false;
    const view = viewOf(table);
    return view.getUint32(4, true) === count && view.getUint32(0, true) === crc32(table.subarray(4));
  };
  const [table] = readIntact(read, [{ from: 0, to: tableBytes(count) }], isTable, describeDamage(where));
  const view = viewOf(table!);
  const blocks: Block[] = [];
  let [storedAt, payloadAt] = [tableBytes(count), 0];
  for (let at = tableHeadBytes; at < tableBytes(count); at += entryBytes) {
    const stored = { from: storedAt, to: storedAt + view.getUint32(at, true) };
    const payload = { from: payloadAt, to: payloadAt + view.getUint32(at + 4, true) };
    blocks.push({ stored, payload, checksum: view.getUint32(at + 8, true) });
    [storedAt, payloadAt] = [stored.to, payload.to];
  }
  if (payloadAt !== payloadBytes) throw new Failure("damage", describeDamage(where));
  return blocks;
}

function readBlock({ stored, checksum }: Block, read: ReadStoredParts, where: string): Uint8Array {
  const isIntact = ([bytes]: readonly Uint8Array[]): boolean =>
    bytes !== undefined && bytes.byteLength === stored.to - stored.from && crc32(bytes) === checksum;
  return readIntact(read, [stored], isIntact, describeDamage(where))[0]!;
}

/**
 * Fills `target` with the decompressed bytes of a block from `from` on. A whole block is decompressed where it is wanted; a
 * part of one is copied.
 * @param stored the bytes of the block on disk
 */
function unpackBlockInto(
  target: Uint8Array,
  block: Block,
  stored: Uint8Array,
  from: number,
  where: string,
): void {
  const payloadBytes = block.payload.to - block.payload.from;
  const isCompressed = stored.byteLength !== payloadBytes;
  if (isCompressed && target.byteLength === payloadBytes && decompressInto(target, stored)) return;
  const bytes = isCompressed ? decompress(stored, payloadBytes) : stored;
  if (bytes.byteLength !== payloadBytes) throw new Failure("damage", describeDamage(where));
  target.set(bytes.subarray(from, from + target.byteLength));
  freePayload(bytes);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function describeDamage(where: string): string {
  return `${where}: its blocks are not those that were written`;
}
