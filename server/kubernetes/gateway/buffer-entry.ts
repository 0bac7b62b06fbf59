/**
 * The form of one body in a segment of the disk buffer. All numbers are little-endian.
 *
 * | offset | bytes | what |
 * |---|---|---|
 * | 0 | 4 | magic, "SVCB" |
 * | 4 | 4 | bytes of the description |
 * | 8 | 4 | bytes of the body |
 * | 12 | 4 | CRC-32 of description and body |
 * | 16 | 4 | CRC-32 of the 16 bytes before |
 * | 20 | | description in JSON, body |
 */

import { crc32 } from "node:zlib";

/** A body as it is sent to the hub. */
export interface OutgoingBody {
  /** Path of the hub that takes it: `/v1/logs`. */
  path: string;
  contentType: string;
  /** `identity`, `gzip` or `zstd`. */
  contentEncoding: string;
  /** The idempotency key: the hub takes a body with this key once. */
  key: string;
  body: Uint8Array;
}

export interface EntryHeader {
  descriptionBytes: number;
  bodyBytes: number;
  checksum: number;
}

const magic = 0x42435653;
export const headerBytes = 20;

export function encodeEntry({ body, ...description }: OutgoingBody): Buffer {
  const text = Buffer.from(JSON.stringify(description));
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(magic, 0);
  header.writeUInt32LE(text.length, 4);
  header.writeUInt32LE(body.length, 8);
  header.writeUInt32LE(crc32(body, crc32(text)), 12);
  header.writeUInt32LE(crc32(header.subarray(0, 16)), 16);
  return Buffer.concat([header, text, body]);
}

/** Undefined where the bytes are no header. */
export function readHeader(bytes: Buffer): EntryHeader | undefined {
  if (bytes.length < headerBytes || bytes.readUInt32LE(0) !== magic) return undefined;
  if (bytes.readUInt32LE(16) !== crc32(bytes.subarray(0, 16))) return undefined;
  return {
    descriptionBytes: bytes.readUInt32LE(4),
    bodyBytes: bytes.readUInt32LE(8),
    checksum: bytes.readUInt32LE(12),
  };
}

export function entryBytes({ descriptionBytes, bodyBytes }: EntryHeader): number {
  return headerBytes + descriptionBytes + bodyBytes;
}

/** Undefined where the checksum does not hold. */
export function decodeEntry(header: EntryHeader, content: Buffer): OutgoingBody | undefined {
  if (content.length !== header.descriptionBytes + header.bodyBytes) return undefined;
  if (crc32(content) !== header.checksum) return undefined;
  const description = JSON.parse(content.toString("utf8", 0, header.descriptionBytes));
  return { ...description, body: content.subarray(header.descriptionBytes) };
}
