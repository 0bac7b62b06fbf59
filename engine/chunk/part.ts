/**
 * A part: the rows of one batch and day as a chunk, in memory and in the journal. Serialized: u32 magic, u32 length of
 * the header's JSON, the JSON, then each column's payload and filter, each of these padded to 8 bytes. Most parts hold
 * them as they are encoded ("SVCI"). A packed part ("SVCP") holds the frames of a chunk that is ready for disk, with
 * zeros for keys.
 */
import { Failure } from "../failure.ts";
import { align8 } from "../files/column-payload.ts";
import { completeFrame, FrameKind, isIntactFrame, readFrame, reopenFrame } from "../files/frame.ts";
import type { PayloadAllocator } from "../files/zstd.ts";
import type { ChunkExtent } from "./chunk-entry.ts";
import {
  type ChunkHeader,
  type ChunkSource,
  type ColumnOutline,
  type EncodedChunk,
  parseHeader,
} from "./chunk-header.ts";
import { openHeader } from "./opened-header.ts";
import { chunkKeyBytes, type PackedChunk } from "./packed-chunk.ts";

const plainMagic = 0x49435653;
const packedMagic = 0x50435653;
/** The key of frames in a packed part: they get another one with the number of their chunk. */
const noKey = new Uint8Array(chunkKeyBytes);

/** A part that is measured but not written yet. */
export interface SerializedPart {
  rows: number;
  magic: number;
  /** The header's JSON. */
  json: Buffer;
  values: readonly Uint8Array[];
  /** Length of the serialized part. */
  byteLength: number;
}

/** Measures a part; `writePart` then writes it. */
export function serializePart({ header, payloads, filters }: EncodedChunk): SerializedPart {
  const values = payloads.flatMap((payload, i) => listPresent(payload, filters[i]));
  return measurePart(plainMagic, header, values);
}

/** As `serializePart`, as a packed part. Closes the chunk's frames. */
export function serializePackedPart({ header, columns }: PackedChunk): SerializedPart {
  const packed = columns.flatMap(({ payload, filter }) => listPresent(payload, filter));
  for (const each of packed) completeFrame(each, FrameKind.column, noKey);
  const stored = columns.map(({ payload, filter }, i) => ({
    ...header.columns[i]!,
    storedBytes: payload.frame.byteLength,
    ...(filter === undefined ? {} : { filterStoredBytes: filter.frame.byteLength }),
  }));
  const frames = packed.map(({ frame }) => frame);
  return measurePart(packedMagic, { ...header, columns: stored }, frames);
}

function listPresent<T>(payload: T, filter: T | undefined): T[] {
  return filter === undefined ? [payload] : [payload, filter];
}

function measurePart(magic: number, header: ChunkHeader, values: readonly Uint8Array[]): SerializedPart {
  const json = Buffer.from(JSON.stringify(header), "utf8");
  const headBytes = 8 + align8(json.byteLength);
  const byteLength = values.reduce((sum, value) => sum + align8(value.byteLength), headBytes);
  return { rows: header.rows, magic, json, values, byteLength };
}

/** Writes a part at `offset`, a multiple of 8, into zeroed bytes; returns the offset after it. */
export function writePart(
  { magic, json, values }: SerializedPart,
  target: Uint8Array,
  offset: number,
): number {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  view.setUint32(offset, magic, true);
  view.setUint32(offset + 4, json.byteLength, true);
  target.set(json, offset + 8);
  let at = offset + 8 + align8(json.byteLength);
  for (const value of values) {
    target.set(value, at);
    at += align8(value.byteLength);
  }
  return at;
}

/** True for a packed part. */
export function isPackedPart(bytes: Uint8Array): boolean {
  return readMagic(bytes) === packedMagic;
}

/** Opens a serialized part in place, without a copy. Throws Failure "damage" where the bytes are not a part. */
export function openPart(bytes: Uint8Array, arrivalBase: number): ChunkSource {
  const opened = openHeader(readPartJson(bytes));
  const { payload, filter } = locateColumns(bytes, opened.header.columns.all());
  if (!isPackedPart(bytes)) return { ...opened, arrivalBase, payload, filter };
  const unpack = (frame: Uint8Array, allocate?: PayloadAllocator) =>
    readFrame(frame, noKey, FrameKind.column, "batch: a column", { allocate });
  return {
    ...opened,
    arrivalBase,
    payload: (i, allocate) => unpack(payload(i), allocate),
    filter: (i) => {
      const frame = filter(i);
      return frame === undefined ? undefined : unpack(frame);
    },
  };
}

/** The chunk of a packed part, in memory of its own. Throws as `openPart`. */
export function readPackedChunk(bytes: Uint8Array, arrivalBase: number): PackedChunk {
  const header = parseHeader(readPartJson(bytes));
  const { payload, filter } = locateColumns(bytes, header.columns);
  const copy = (frame: Uint8Array) => {
    // The frames get new checksums, so that the old ones are verified here.
    if (!isIntactFrame(frame)) throw new Failure("damage", "batch: the checksum of a column does not match");
    // Not by Buffer.from: small buffers share memory, which cannot go to another thread.
    return reopenFrame(new Uint8Array(frame));
  };
  const columns = header.columns.map((_, i) => {
    const frame = filter(i);
    return { payload: copy(payload(i)), filter: frame === undefined ? undefined : copy(frame) };
  });
  return { header: { ...header, arrivalBase }, columns };
}

/**
 * Reads what the header of a serialized part says before its columns. They are most of it, and a start that reads
 * thousands of parts needs none of them. Throws as `openPart`.
 */
export function readPartExtent(bytes: Uint8Array): ChunkExtent {
  const json = readPartJson(bytes);
  const end = json.indexOf(beforeColumns);
  return end < 0 ? parseHeader(json) : (JSON.parse(`${json.toString("latin1", 0, end)}}`) as ChunkExtent);
}

/** Encoders write the columns last. What stands before them are numbers, so this is found in no text. */
const beforeColumns = ',"columns":[';

/** The values of a part as they are stored. */
interface LocatedColumns {
  payload(column: number): Uint8Array;
  filter(column: number): Uint8Array | undefined;
}

function locateColumns(bytes: Uint8Array, columns: readonly ColumnOutline[]): LocatedColumns {
  const lengthsOf = isPackedPart(bytes) ? packedLengths : plainLengths;
  const places: { payload: number; payloadBytes: number; filter: number; filterBytes: number }[] = [];
  let at = 8 + align8(readPartJson(bytes).byteLength);
  for (const column of columns) {
    const [payloadBytes, filterBytes] = lengthsOf(column);
    const filter = at + align8(payloadBytes);
    places.push({ payload: at, payloadBytes, filter, filterBytes });
    at = filter + align8(filterBytes);
  }
  return {
    payload: (i) => sliceColumn(bytes, places[i]!.payload, places[i]!.payloadBytes),
    filter: (i) => {
      const { filter, filterBytes } = places[i]!;
      return filterBytes === 0 ? undefined : sliceColumn(bytes, filter, filterBytes);
    },
  };
}

function plainLengths({ payloadBytes, filterBytes }: ColumnOutline): [payload: number, filter: number] {
  return [payloadBytes, filterBytes];
}

function packedLengths({
  storedBytes = 0,
  filterStoredBytes = 0,
}: ColumnOutline): [payload: number, filter: number] {
  return [storedBytes, filterStoredBytes];
}

/** 0 where the bytes are too few for one. */
function readMagic(bytes: Uint8Array): number {
  if (bytes.byteLength < 8) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
}

/** The JSON of a serialized part's header. Throws Failure "damage" where the bytes are not a part. */
function readPartJson(bytes: Uint8Array): Buffer {
  const magic = readMagic(bytes);
  if (magic !== plainMagic && magic !== packedMagic)
    throw new Failure("damage", "batch: no chunk stands where one should");
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(4, true);
  if (8 + length > bytes.byteLength) throw new Failure("damage", "batch: a chunk's header passes the end");
  return Buffer.from(bytes.buffer, bytes.byteOffset + 8, length);
}

function sliceColumn(bytes: Uint8Array, from: number, byteLength: number): Uint8Array {
  if (from + byteLength > bytes.byteLength) throw new Failure("damage", "batch: a column passes the end");
  return bytes.subarray(from, from + byteLength);
}
