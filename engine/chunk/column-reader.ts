/** Reads of a chunk's columns under one lease of memory: what is decoded is cached with the chunk. */
import { freePayload } from "../files/zstd.ts";
import type { ColumnHeap, ColumnMemory, Heap } from "../kernels/heap.ts";
import type { CachedValues, ChunkColumns } from "./chunk-columns.ts";

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

  /** Decodes a column by its index in the header. */
  decode<T>(index: number, held: Heap, decode: (payload: Uint8Array) => T): T {
    return useOnce(this.read(index), held, decode);
  }

  /** The stored bytes of a column by its index in the header. */
  read(index: number): Uint8Array {
    const payload = this.chunk.source.payload(index);
    this.readBytes += payload.byteLength;
    return payload;
  }
}

/** Decodes a payload onto a heap; frees it where the heap has a copy of all that is decoded. */
export function useOnce<T>(payload: Uint8Array, heap: Heap, decode: (payload: Uint8Array) => T): T {
  const decoded = decode(payload);
  if (heap.copies) freePayload(payload);
  return decoded;
}
