/**
 * A record of the journal: a header, then the batch's frame, padded to 8 bytes. Integers are little-endian.
 *
 *  offset  size  what
 *       0     4  magic "SVCJ"
 *       4     4  CRC-32 of bytes 8..95
 *       8     8  sequence number, float64, counted from 1 without gaps
 *      16     8  arrival number of the batch's first row, float64
 *      24     8  time of the append, ms since the epoch, float64
 *      32     8  time at which the idempotency key expires, ms since the epoch, float64
 *      40     4  rows
 *      44     4  bytes of the frame
 *      48     4  signal: its index in the list of signals
 *      52     4  zero
 *      56     8  writer: which opening of the folder appended the record; zeros in records of older builds
 *      64    32  SHA-256 of the idempotency key; zeros without one
 */
import { crc32 } from "node:zlib";
import { align8 } from "../files/column-payload.ts";
import { isIntactFrame } from "../files/frame.ts";
import { fromSignalNumber, type Signal, toSignalNumber } from "../model/signal.ts";

export const recordHeaderBytes = 96;
const recordMagic = Buffer.from("SVCJ", "latin1");

export interface RecordHeader {
  signal: Signal;
  /** Sequence number of the batch, from 1 without gaps. */
  seq: number;
  /** Arrival number of the batch's first row. */
  arrivalBase: number;
  appendedMs: number;
  keyUntilMs: number;
  rows: number;
  frameBytes: number;
  /** The opening of the folder that appended the record: 16 hexadecimal digits, zeros in records of older builds. */
  writer: string;
  /** Hexadecimal SHA-256 of the idempotency key, or undefined. */
  keyHash: string | undefined;
}

export interface JournalRecord extends RecordHeader {
  /** The batch's frame. */
  frame: Uint8Array;
}

/** Length of a record with its padding, in bytes. */
export function recordLength(frameBytes: number): number {
  return recordHeaderBytes + align8(frameBytes);
}

export function writeRecordHeader(header: RecordHeader): Buffer {
  const bytes = Buffer.alloc(recordHeaderBytes);
  recordMagic.copy(bytes, 0);
  bytes.writeDoubleLE(header.seq, 8);
  bytes.writeDoubleLE(header.arrivalBase, 16);
  bytes.writeDoubleLE(header.appendedMs, 24);
  bytes.writeDoubleLE(header.keyUntilMs, 32);
  bytes.writeUInt32LE(header.rows, 40);
  bytes.writeUInt32LE(header.frameBytes, 44);
  bytes.writeUInt32LE(toSignalNumber(header.signal), 48);
  bytes.write(header.writer, 56, 8, "hex");
  if (header.keyHash !== undefined) bytes.write(header.keyHash, 64, 32, "hex");
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return bytes;
}

/** An intact header. Its signal may be one that this build does not know. */
type ParsedHeader = Omit<RecordHeader, "signal"> & { signalNumber: number };

/** Returns the header at an offset, or undefined where there is no intact one. */
function readRecordHeader(file: Buffer, offset: number): ParsedHeader | undefined {
  const bytes = file.subarray(offset, offset + recordHeaderBytes);
  if (bytes.byteLength < recordHeaderBytes || !bytes.subarray(0, 4).equals(recordMagic)) return undefined;
  if (crc32(bytes.subarray(8)) !== bytes.readUInt32LE(4)) return undefined;
  const key = bytes.subarray(64, 96);
  return {
    signalNumber: bytes.readUInt32LE(48),
    seq: bytes.readDoubleLE(8),
    arrivalBase: bytes.readDoubleLE(16),
    appendedMs: bytes.readDoubleLE(24),
    keyUntilMs: bytes.readDoubleLE(32),
    rows: bytes.readUInt32LE(40),
    frameBytes: bytes.readUInt32LE(44),
    writer: bytes.toString("hex", 56, 64),
    keyHash: key.every((byte) => byte === 0) ? undefined : key.toString("hex"),
  };
}

export interface SegmentScan {
  records: JournalRecord[];
  /** Greater than the sequence numbers of all batches whose signal this build does not know; 1 without such batches. */
  seqNext: number;
  /** The same of arrival numbers. */
  arrivalNext: number;
  /** What is damaged, each with its offset. */
  problems: string[];
}

/**
 * Reads every intact record of a segment; bytes between them that cannot be read become problems. `bytes` is the length
 * of the whole segment. Where `file` is shorter, the missing rest is zeros, and `file` ends with as many zeros as a
 * header is long.
 */
export function scanSegment(file: Buffer, bytes = file.byteLength): SegmentScan {
  const scan: SegmentScan = { records: [], seqNext: 1, arrivalNext: 1, problems: [] };
  let at = 0;
  while (at < file.byteLength) {
    const header = readRecordHeader(file, at);
    if (header === undefined) {
      const next = findRecord(file, at + 1);
      if (next < 0) {
        checkTail(file, at, scan);
        break;
      }
      scan.problems.push(`the bytes from ${at} to ${next} are damaged`);
      at = next;
      continue;
    }
    addRecord(extendWithZeros(file, at + recordHeaderBytes + header.frameBytes, bytes), at, header, scan);
    at += recordLength(header.frameBytes);
  }
  return scan;
}

/** Appends zeros up to `end` where the last record ends in zeros that `file` leaves out. */
function extendWithZeros(file: Buffer, end: number, bytes: number): Buffer {
  if (end <= file.byteLength || end > bytes) return file;
  const longer = Buffer.alloc(end);
  file.copy(longer);
  return longer;
}

/** Checks the record's frame, and adds the record or a problem. */
function addRecord(file: Buffer, at: number, parsed: ParsedHeader, scan: SegmentScan): void {
  const { signalNumber, ...header } = parsed;
  const { seq, arrivalBase, rows, frameBytes } = header;
  const signal = fromSignalNumber(signalNumber);
  const frame = file.subarray(at + recordHeaderBytes, at + recordHeaderBytes + frameBytes);
  if (frame.byteLength < frameBytes || !isIntactFrame(frame)) {
    scan.problems.push(`batch ${seq} at ${at} is damaged or unfinished (${rows} rows)`);
  } else if (signal === undefined) {
    scan.problems.push(`batch ${seq} at ${at} is of an unknown signal, ${signalNumber} (${rows} rows)`);
    scan.seqNext = Math.max(scan.seqNext, seq + 1);
    scan.arrivalNext = Math.max(scan.arrivalNext, arrivalBase + rows);
  } else scan.records.push({ ...header, signal, frame });
}

/** Offset of the first intact record header at or after `from`, or -1. */
function findRecord(file: Buffer, from: number): number {
  for (let at = file.indexOf(recordMagic, from); at >= 0; at = file.indexOf(recordMagic, at + 1)) {
    if (readRecordHeader(file, at) !== undefined) return at;
  }
  return -1;
}

/** After the last record a segment is all zeros, unless a crash cut a record off or bytes are damaged. */
function checkTail(file: Buffer, from: number, scan: SegmentScan): void {
  const zeros = Buffer.alloc(64 * 1024);
  for (let at = from; at < file.byteLength; at += zeros.byteLength) {
    const part = file.subarray(at, at + zeros.byteLength);
    if (part.equals(zeros.subarray(0, part.byteLength))) continue;
    scan.problems.push(
      `the bytes from ${from} on are damaged, or an unfinished batch that was never acknowledged`,
    );
    return;
  }
}
