/** Reads a file or standard input and decompresses gzip and zstd, which it recognizes by the first bytes. */

import { open, stat } from "node:fs/promises";
import { addAbortSignal, pipeline, type Transform } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { ZstdFrames } from "../../api/zstd-frame.ts";

/**
 * Chunks of bytes, which may change once the next one is asked for. Whoever asks may offer memory for it: a chunk that lies
 * at its beginning stays, and needs no copy.
 */
export type Chunks = AsyncGenerator<Uint8Array, void, Uint8Array | undefined>;

export interface InputFile {
  /** The name on the command line; `standard input` for `-`. */
  name: string;
  /** Size of the file on disk; 0 where that is not known. */
  bytesTotal: number;
  /** Bytes read so far, before decompression. */
  bytesRead: number;
  /** The same of the decompressed bytes; 0 where that is not known, and until the first chunk was read. */
  dataBytesTotal: number;
  /** True for standard input, which may stay silent for a while: what has come is sent meanwhile. */
  isLive: boolean;
  /** The decompressed bytes. Throws an Error that names the input where it cannot be read, is damaged or truncated. */
  chunks: Chunks;
}

const readBytes = 1024 * 1024;
/** zlib calls a thread for every chunk; its default is 16 KiB. */
const decompressorOptions = { chunkSize: readBytes };

/** Throws an Error where there is no such file. `stop` ends standard input, which may stay silent for ever. */
export async function openInput(name: string, stop: AbortSignal): Promise<InputFile> {
  const isLive = name === "-";
  const displayName = isLive ? "standard input" : name;
  const bytesTotal = isLive ? 0 : await readFileSize(name);
  const source = isLive ? readStream(addAbortSignal(stop, process.stdin)) : readFile(name);
  const input: InputFile = {
    name: displayName,
    bytesTotal,
    bytesRead: 0,
    dataBytesTotal: 0,
    isLive,
    chunks: source,
  };
  input.chunks = decompress(input, source);
  return input;
}

async function readFileSize(name: string): Promise<number> {
  try {
    const found = await stat(name);
    if (found.isDirectory()) throw new Error(`${name} is a folder: name its files`);
    return found.isFile() ? found.size : 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Error(code === "ENOENT" ? `there is no file ${name}` : `${name} cannot be read (${code})`);
  }
}

async function* readStream(stream: AsyncIterable<Uint8Array>): Chunks {
  for await (const chunk of stream) yield chunk;
}

/**
 * Reads a file into memory that is offered, else into a buffer that is used again: a new one for each chunk would make V8
 * collect garbage every few of them.
 */
async function* readFile(name: string): Chunks {
  const file = await open(name);
  const own = Buffer.allocUnsafeSlow(readBytes);
  try {
    let target: Uint8Array = own;
    for (;;) {
      const { bytesRead } = await file.read(target, 0, target.length);
      if (bytesRead === 0) return;
      const offered = yield target.subarray(0, bytesRead);
      target = offered !== undefined && offered.length > 0 ? offered : own;
    }
  } finally {
    await file.close();
  }
}

async function* decompress(input: InputFile, source: Chunks): Chunks {
  try {
    const { first, all } = await peekBytes(countBytes(input, source), 4);
    const format = detectFormat(first);
    if (format === "plain") {
      input.dataBytesTotal = input.bytesTotal;
      yield* all;
    }
    // Decompressors may hold on to what they are given.
    else if (format === "gzip") yield* pipeThrough(createGunzip(decompressorOptions), copyChunks(all));
    else yield* decompressZstd(copyChunks(all));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${input.name} cannot be read to its end: ${reason}`);
  }
}

async function* copyChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield chunk.slice();
}

/** Errors of `chunks` become errors of the returned stream. */
function pipeThrough(decompressor: Transform, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  pipeline(chunks, decompressor, () => undefined);
  return decompressor;
}

/** Decompresses each frame by a decompressor of its own, because one alone stops after the first frame. */
async function* decompressZstd(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = splitFrames(chunks);
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
    yield* pipeThrough(createZstdDecompress(decompressorOptions), readFrame(next.value, pieces));
  }
}

interface FramePiece {
  bytes: Uint8Array;
  endsFrame: boolean;
}

async function* splitFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<FramePiece, undefined> {
  const frames = new ZstdFrames();
  for await (const chunk of chunks) {
    let from = 0;
    for (const end of frames.push(chunk)) {
      yield { bytes: chunk.subarray(from, end), endsFrame: true };
      from = end;
    }
    if (from < chunk.length) yield { bytes: chunk.subarray(from), endsFrame: false };
  }
}

async function* readFrame(
  first: FramePiece,
  pieces: AsyncGenerator<FramePiece, undefined>,
): AsyncGenerator<Uint8Array> {
  let piece = first;
  yield piece.bytes;
  while (!piece.endsFrame) {
    const next = await pieces.next();
    if (next.done) throw new Error("unexpected end of file");
    piece = next.value;
    yield piece.bytes;
  }
}

function detectFormat(first: Uint8Array): "plain" | "gzip" | "zstd" {
  if (first[0] === 0x1f && first[1] === 0x8b) return "gzip";
  const isZstd = first[0] === 0x28 && first[1] === 0xb5 && first[2] === 0x2f && first[3] === 0xfd;
  const isSkippable =
    (first[0]! & 0xf0) === 0x50 && first[1] === 0x2a && first[2] === 0x4d && first[3] === 0x18;
  return isZstd || isSkippable ? "zstd" : "plain";
}

async function* countBytes(input: InputFile, source: Chunks): Chunks {
  let offered: Uint8Array | undefined;
  try {
    for (let next = await source.next(); next.done !== true; next = await source.next(offered)) {
      input.bytesRead += next.value.length;
      offered = yield next.value;
    }
  } finally {
    await source.return();
  }
}

/** Returns the first `length` bytes (fewer where the input is shorter), and an iteration over all bytes. */
async function peekBytes(chunks: Chunks, length: number) {
  const peeked: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < length) {
    const next = await chunks.next();
    if (next.done) break;
    // A chunk that is too short is followed by another.
    peeked.push(next.value.length < length ? Uint8Array.from(next.value) : next.value);
    bytes += next.value.length;
  }
  async function* all(): Chunks {
    yield* peeked;
    yield* chunks;
  }
  return { first: Buffer.concat(peeked).subarray(0, length), all: all() };
}
