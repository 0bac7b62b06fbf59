/** Compression by zstd, as Node has it. */
import { constants as zlibConstants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Parameters of zstd, by their numbers in `zlib.constants`. */
export type Compression = Readonly<Record<number, number>>;

/** What zstd takes for one of its levels. */
export function compressionOfLevel(level: number): Compression {
  return { [zlibConstants.ZSTD_c_compressionLevel]: level };
}

export function compress(payload: Uint8Array, compression: Compression): Buffer {
  return zstdCompressSync(payload, { chunkSize: zstdBytesMax(payload.byteLength), params: compression });
}

/**
 * Most bytes that zstd makes of so many (`ZSTD_COMPRESSBOUND`). Where all of the output has room from the beginning, zstd
 * reads and writes in place, which takes a third less time than in pieces.
 */
function zstdBytesMax(bytes: number): number {
  return bytes + (bytes >> 8) + 64;
}

/**
 * The largest buffer that is allocated for the length that a frame's header gives, which may be wrong. The messages of a full
 * chunk fit. A longer payload is decompressed into several buffers and copied together.
 */
const outputBytesAtOnce = 80 * 1024 * 1024;

/** Throws a RangeError, or an error of zstd, where `stored` is not what was compressed, or becomes longer. */
export function decompress(stored: Uint8Array, payloadBytes: number): Uint8Array {
  // A buffer of one byte more than is needed: a full one would make zlib allocate a second one.
  const payload = zstdDecompressSync(stored, {
    maxOutputLength: Math.max(payloadBytes, 1),
    chunkSize: Math.min(Math.max(payloadBytes + 1, zlibConstants.Z_MIN_CHUNK), outputBytesAtOnce),
  });
  if (payload.byteLength >= freedBytesMin) decompressed.add(payload.buffer);
  return payload;
}

/** Shorter payloads are left to the garbage collector. They may share their memory with other buffers of Node. */
const freedBytesMin = 64 * 1024;

/** The memory of payloads that were decompressed, each in memory of its own. */
const decompressed = new WeakSet<ArrayBufferLike>();

/**
 * Frees the memory of a payload that was decompressed; nobody may use it afterwards. The next payload then gets memory that
 * is in the process already: a cold question about the newest rows took 34 ms in place of 74 in a virtual machine where
 * page faults are expensive. Leaves memory of other kinds alone.
 */
export function freePayload(payload: Uint8Array): void {
  if (decompressed.delete(payload.buffer)) (payload.buffer as ArrayBuffer).transfer(0);
}
