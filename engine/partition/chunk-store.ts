/**
 * Chunks as values of a partition's LMDB environment: how they are compressed, framed, keyed and read back. Key: u32
 * chunk, u16 column, u16 column part (big-endian). Part 0 is the column's payload, part 1 its membership filter; column
 * 0xffff is the chunk's header.
 */

import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { makeChunkEntry } from "../chunk/chunk-entry.ts";
import type { ChunkHeader, ChunkSource, ColumnOutline } from "../chunk/chunk-header.ts";
import { openHeader } from "../chunk/opened-header.ts";
import { chunkKeyBytes, type PackedChunk } from "../chunk/packed-chunk.ts";
import { Failure } from "../failure.ts";
import {
  completeFrame,
  FrameKind,
  frameBytes,
  frameHeaderBytes,
  isIntactFrame,
  type PackedFrame,
  readFrame,
  readFrameChecksum,
  writeFrame,
} from "../files/frame.ts";
import { openBlocks } from "../files/value-blocks.ts";
import { openPages, type ReadStoredParts } from "../files/value-pages.ts";
import { compressionOfLevel, type PayloadAllocator } from "../files/zstd.ts";
import type { LmdbEnvironment } from "../lmdb/environment.ts";

const headerColumn = 0xffff;
/** How chunk headers are compressed. */
const headerCompression = compressionOfLevel(3);
/**
 * Headers shorter than this are not compressed: the first query reads the header of every chunk, and decompressing a short
 * one takes longer than reading it.
 */
const plainHeaderBytesMax = 16 * 1024;

const ColumnPart = { payload: 0, filter: 1 } as const;

function chunkKey(chunk: number, column: number, part: number): Buffer {
  const key = Buffer.alloc(chunkKeyBytes);
  key.writeUInt32BE(chunk, 0);
  key.writeUInt16BE(column, 4);
  key.writeUInt16BE(part, 6);
  return key;
}

/** LMDB key of a chunk's header. */
export function headerKey(chunk: number): Buffer {
  return chunkKey(chunk, headerColumn, ColumnPart.payload);
}

/** A chunk ready to be written: its framed LMDB values and its manifest entry. */
export interface SealedChunk {
  entry: ChunkEntry;
  values: { key: Uint8Array; frame: Uint8Array }[];
}

/** Gives a chunk its number: closes the frames with their keys and notes the checksums in header and entry. */
export function sealChunk(chunk: PackedChunk, id: number): SealedChunk {
  const values: SealedChunk["values"] = [];
  const header: ChunkHeader = { ...chunk.header, columns: [] };
  const close = (key: Buffer, packed: PackedFrame): Uint8Array => {
    completeFrame(packed, FrameKind.column, key);
    values.push({ key, frame: packed.frame });
    return packed.frame;
  };
  for (const [i, { payload, filter }] of chunk.columns.entries()) {
    const sealed = { ...chunk.header.columns[i]! };
    const frame = close(chunkKey(id, i, ColumnPart.payload), payload);
    sealed.checksum = readFrameChecksum(frame);
    sealed.storedBytes = frame.byteLength;
    if (filter !== undefined) {
      const filterFrame = close(chunkKey(id, i, ColumnPart.filter), filter);
      sealed.filterChecksum = readFrameChecksum(filterFrame);
      sealed.filterStoredBytes = filterFrame.byteLength;
    }
    header.columns.push(sealed);
  }
  const key = headerKey(id);
  const json = Buffer.from(JSON.stringify(header));
  const options = json.byteLength < plainHeaderBytesMax ? {} : { compression: headerCompression };
  const frame = writeFrame(FrameKind.chunkHeader, key, json, options);
  values.push({ key, frame });
  const bytes = values.reduce((sum, value) => sum + value.frame.byteLength, 0);
  return { entry: makeChunkEntry({ id, bytes, checksum: readFrameChecksum(frame) }, header), values };
}

type ReadableEnvironment = Pick<LmdbEnvironment, "view" | "viewParts">;

/** A value of a stored chunk: its key, the kind of its frame, its checksum, and what it is called in errors. */
interface StoredValue {
  key: Buffer;
  kind: FrameKind;
  checksum: number | undefined;
  what: string;
}

/** Reads values of one chunk. Throws Failure "damage" where one is missing or its checksum is another than recorded. */
class StoredChunk {
  readonly #environment: ReadableEnvironment;
  readonly where: string;

  constructor(environment: ReadableEnvironment, where: string) {
    this.#environment = environment;
    this.where = where;
  }

  /** Returns the payload: in memory of its own where `isKept`, else a view that is valid until the next read. */
  read(
    { key, kind, checksum, what }: StoredValue,
    { isKept = false, allocate }: { isKept?: boolean; allocate?: PayloadAllocator | undefined } = {},
  ): Uint8Array {
    const { where } = this;
    const isRecorded = (value: Uint8Array) =>
      value.byteLength >= frameHeaderBytes && readFrameChecksum(value) === checksum;
    let isIntact = false;
    const stored = this.#environment.view(key, (value) => {
      isIntact = isRecorded(value) && isIntactFrame(value);
      return isIntact;
    });
    if (stored === undefined) throw new Failure("damage", `${where}: ${what} is missing`);
    if (!isRecorded(stored))
      throw new Failure("damage", `${where}: ${what} is not the value that was written`);
    const payload = readFrame(stored, key, kind, `${where}: ${what}`, { allocate, isIntact });
    return isKept && payload.buffer === stored.buffer ? new Uint8Array(payload) : payload;
  }

  /** Reads parts of a frame's payload as it is stored. */
  partsReader(key: Buffer, what: string): ReadStoredParts {
    return (ranges, isIntact) => {
      const from = frameBytes(key.byteLength, 0);
      const parts = ranges.map((range) => ({ offset: from + range.from, length: range.to - range.from }));
      const read = this.#environment.viewParts(key, parts, isIntact);
      if (read === undefined) throw new Failure("damage", `${this.where}: ${what} is missing`);
      return read;
    };
  }
}

const filterName = "a membership filter";

function nameColumn({ key, role }: ColumnOutline): string {
  return `column ${key === "" ? role : JSON.stringify(key)}`;
}

/**
 * Opens a sealed chunk: reads its header now and columns on demand. Throws Failure "damage" where the header, or later
 * a column, is missing or its checksum is another than recorded.
 */
export function openChunk(
  environment: ReadableEnvironment,
  { id, checksum }: { id: number; checksum: number },
  dir: string,
): ChunkSource {
  const chunk = new StoredChunk(environment, `${dir} chunk ${id}`);
  const stored = { key: headerKey(id), kind: FrameKind.chunkHeader, checksum, what: "the header" };
  const opened = openHeader(chunk.read(stored, { isKept: true }));
  const { columns, arrivalBase = 0 } = opened.header;
  return {
    ...opened,
    arrivalBase,
    payload: (i, allocate) => {
      const column = columns.get(i)!;
      const key = chunkKey(id, i, ColumnPart.payload);
      const value = { key, kind: FrameKind.column, checksum: column.checksum, what: nameColumn(column) };
      return chunk.read(value, { isKept: true, allocate });
    },
    filter: (i) => {
      const { filterBytes, filterChecksum } = columns.get(i)!;
      if (filterBytes === 0) return undefined;
      const key = chunkKey(id, i, ColumnPart.filter);
      return chunk.read({ key, kind: FrameKind.column, checksum: filterChecksum, what: filterName });
    },
    payloadBlocks: (i) => {
      const column = columns.get(i)!;
      if (column.blocks === undefined) return undefined;
      const what = nameColumn(column);
      const readStored = chunk.partsReader(chunkKey(id, i, ColumnPart.payload), what);
      return openBlocks(column.payloadBytes, column.blocks, readStored, `${chunk.where}: ${what}`);
    },
    filterPages: (i) => {
      const { filterPages, filterBytes } = columns.get(i)!;
      if (filterPages === undefined) return undefined;
      const readStored = chunk.partsReader(chunkKey(id, i, ColumnPart.filter), filterName);
      return openPages(filterBytes, filterPages, readStored, `${chunk.where}: ${filterName}`);
    },
  };
}

/** Reads every value of a chunk. Throws Failure "damage" where one is not as it was written. */
export function readWholeChunk(source: ChunkSource): void {
  for (let i = 0; i < source.header.columns.length; i++) {
    source.payload(i);
    source.filter(i);
  }
}

/**
 * Keys and checksums of every value of a chunk's columns: their payloads and filters, without the chunk's header.
 */
export function chunkKeys(
  id: number,
  columns: readonly ColumnOutline[],
): { key: Buffer; checksum: number | undefined }[] {
  return columns.flatMap((column, i) => {
    const payload = { key: chunkKey(id, i, ColumnPart.payload), checksum: column.checksum };
    const filter = { key: chunkKey(id, i, ColumnPart.filter), checksum: column.filterChecksum };
    return column.filterBytes > 0 ? [payload, filter] : [payload];
  });
}
