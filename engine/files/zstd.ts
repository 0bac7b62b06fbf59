/** Compression by zstd, as Node has it. */
import { constants as zlibConstants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { isWholeFrame, ZstdContext } from "./zstd-context.ts";

/** Parameters of zstd, by their numbers in `zlib.constants`. */
export type Compression = Readonly<Record<number, number>>;

/** What zstd takes for one of its levels. */
export function compressionOfLevel(level: number): Compression {
  return { [zlibConstants.ZSTD_c_compressionLevel]: level };
}

/** The contexts of this thread that compress, by their parameters. */
const compressors = new WeakMap<Compression, ZstdContext>();

/** The context of this thread that decompresses. */
const decompressor = ZstdContext.decompressor();

/** Where short payloads are compressed, before they are copied to memory of their length. */
let shortOutput: Uint8Array | undefined;
const shortOutputBytes = 256 * 1024;

/** Returns a frame of zstd. */
export function compress(payload: Uint8Array, compression: Compression): Uint8Array {
  const bytesMax = zstdBytesMax(payload.byteLength);
  const compressor = compressors.get(compression) ?? ZstdContext.compressor(compression);
  compressors.set(compression, compressor);
  const isShort = bytesMax <= shortOutputBytes;
  if (isShort) shortOutput ??= new Uint8Array(shortOutputBytes);
  const output = isShort ? shortOutput! : Buffer.allocUnsafeSlow(bytesMax);
  const written = compressor.run(payload, output);
  // Where the output is full, the frame may not have ended.
  if (written !== undefined && written < bytesMax)
    return isShort ? output.slice(0, written) : output.subarray(0, written);
  compressor.reset();
  return zstdCompressSync(payload, { chunkSize: bytesMax, params: compression });
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

/** Gives memory for a payload of so many bytes; undefined where the payload is to have memory of its own. */
export type PayloadAllocator = (byteLength: number) => Uint8Array | undefined;

/**
 * Returns what was compressed, or less where `stored` ends too early: in the memory that `allocate` gives, or in memory of
 * its own. Throws a RangeError where it becomes longer, or an error of zstd where it is no frame.
 */
export function decompress(
  stored: Uint8Array,
  payloadBytes: number,
  allocate?: PayloadAllocator,
): Uint8Array {
  // Memory that turns out to be of no use would stay with the column.
  const target = decompressor.canRun && isWholeFrame(stored) ? allocate?.(payloadBytes) : undefined;
  if (target !== undefined && decompressInto(target, stored)) return target;
  const payload = decompressAlone(stored, payloadBytes);
  if (payload.byteLength >= freedBytesMin) decompressed.add(payload.buffer);
  return payload;
}

function decompressAlone(stored: Uint8Array, payloadBytes: number): Uint8Array {
  if (payloadBytes <= outputBytesAtOnce) {
    const payload = Buffer.allocUnsafeSlow(payloadBytes);
    if (decompressInto(payload, stored)) return payload;
  }
  // A buffer of one byte more than is needed: a full one would make zlib allocate a second one.
  return zstdDecompressSync(stored, {
    maxOutputLength: Math.max(payloadBytes, 1),
    chunkSize: Math.min(Math.max(payloadBytes + 1, zlibConstants.Z_MIN_CHUNK), outputBytesAtOnce),
  });
}

/**
 * Decompresses a frame whose payload is exactly as long as `target`. Returns false where that fails, for whatever reason:
 * `target` may then hold anything, and `decompress` gives the payload or the error.
 */
export function decompressInto(target: Uint8Array, stored: Uint8Array): boolean {
  if (target.byteLength === 0 || !isWholeFrame(stored)) return false;
  if (decompressor.run(stored, target) === target.byteLength) return true;
  decompressor.reset();
  return false;
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
