/** Reads of a chunk's columns under one lease of memory: what is decoded is cached with the chunk. */
import type { EncodingName } from "../column/encoding.ts";
import { freePayload, type PayloadAllocator } from "../files/zstd.ts";
import type { ColumnHeap, ColumnMemory, Heap } from "../kernels/heap.ts";
import type { CachedValues, ChunkColumns } from "./chunk-columns.ts";

/** Encodings whose stored buffers are the decoded vectors. */
const storedAsUsed: readonly (EncodingName | undefined)[] = ["constant", "float", "hex", "text"];

/**
 * A buffer that all decodes of a thread share: a payload is decompressed into it, decoded, and overwritten by the next one.
 * Allocating a buffer for each payload would cost page faults and garbage collection.
 */
let shortPayload: Uint8Array | undefined;
/** Longer payloads have memory of their own. */
const shortPayloadBytesMax = 256 * 1024;

export class ColumnReader {
  readonly chunk: ChunkColumns;
  readonly heap: ColumnHeap;
  /** Bytes of the payloads that were opened because they were not cached; of those in blocks, too, all bytes. */
  readBytes = 0;

  constructor(chunk: ChunkColumns, heap: ColumnHeap) {
    this.chunk = chunk;
    this.heap = heap;
  }

  /** The value cached in a map, made and cached where there is none. */
  getOrMake<K, T>(map: CachedValues<K, T>, index: K, make: (held: ColumnMemory) => T): T {
    const known = map.get(index);
    if (known !== undefined) {
      this.heap.pin(known.held);
      return known.value;
    }
    const held: ColumnMemory = this.heap.allocateColumn((usedMs) => {
      map.evict(index, held, usedMs);
      this.chunk.held.delete(held);
    }, map.evictedUsedMs(index));
    this.chunk.held.add(held);
    try {
      const value = make(held);
      map.set(index, { value, held });
      return value;
    } catch (error) {
      this.heap.release(held);
      throw error;
    }
  }

  /** Decodes a column by its index in the header. `decode` must not read another column, which may overwrite the payload. */
  decode<T>(index: number, heap: Heap, decode: (payload: Uint8Array) => T): T {
    const encoding = this.chunk.source.header.columns.get(index)?.encoding;
    if (storedAsUsed.includes(encoding)) return this.openStored(index, heap, decode);
    return useOnce(this.read(index, heap.copies ? takeShortPayload : undefined), heap, decode);
  }

  /** As `decode`, for stored buffers that stay in use: they are decompressed onto the heap. `open` may read other columns. */
  openStored<T>(index: number, heap: Heap, open: (payload: Uint8Array) => T): T {
    const allocate = (byteLength: number) => (heap.copies ? heap.unfilled(byteLength) : undefined);
    return useOnce(this.read(index, allocate), heap, open);
  }

  /** The stored bytes of a column by its index in the header, in memory of their own if `allocate` gives none. */
  read(index: number, allocate?: PayloadAllocator): Uint8Array {
    const payload = this.chunk.source.payload(index, allocate);
    this.readBytes += payload.byteLength;
    return payload;
  }
}

function takeShortPayload(byteLength: number): Uint8Array | undefined {
  if (byteLength > shortPayloadBytesMax) return undefined;
  shortPayload ??= new Uint8Array(shortPayloadBytesMax);
  return shortPayload.subarray(0, byteLength);
}

/** Decodes a payload onto a heap; frees it where the heap has a copy of all that is decoded. */
export function useOnce<T>(payload: Uint8Array, heap: Heap, decode: (payload: Uint8Array) => T): T {
  const decoded = decode(payload);
  if (heap.copies) freePayload(payload);
  return decoded;
}
