/** Reads a file or standard input as plain bytes, whatever it is packed with. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { ZstdFrames } from "../../api/zstd-frame.ts";

export interface InputFile {
  /** As the person named it; `standard input` for `-`. */
  name: string;
  /** Bytes of the file, packed as it is; 0 where that is not known. */
  bytesTotal: number;
  /** Packed bytes read up to now. */
  bytesRead: number;
  /** Standard input may stay silent for a while, so what has come is sent on meanwhile. */
  isLive: boolean;
  /** Throws an Error naming the input where it cannot be read, is damaged or was cut short. */
  chunks: AsyncIterable<Uint8Array>;
}

const readBytes = 1024 * 1024;
/** The default of 16 KiB would make a trip to a thread for every 16 KiB. */
const unpackOptions = { chunkSize: readBytes };

/** Throws an Error where there is no such file. */
export async function openInput(name: string): Promise<InputFile> {
  const isLive = name === "-";
  const shownName = isLive ? "standard input" : name;
  const bytesTotal = isLive ? 0 : await fileBytes(name);
  const source = isLive ? process.stdin : createReadStream(name, { highWaterMark: readBytes });
  const input: InputFile = { name: shownName, bytesTotal, bytesRead: 0, isLive, chunks: source };
  input.chunks = unpacked(input, source);
  return input;
}

async function fileBytes(name: string): Promise<number> {
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

async function* unpacked(input: InputFile, source: Readable): AsyncGenerator<Uint8Array> {
  try {
    const { first, rest } = await firstBytes(counted(input, source), 4);
    const format = formatOf(first);
    if (format === "plain") yield* rest;
    else if (format === "gzip") yield* through(createGunzip(unpackOptions), rest);
    else yield* unzstd(rest);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${input.name} cannot be read to its end: ${reason}`);
  }
}

/** What goes wrong on the way in comes out again as an error of the iteration. */
function through(unpacker: Transform, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  pipeline(chunks, unpacker, () => undefined);
  return unpacker;
}

/** Frame by frame, each by an unpacker of its own: one alone would stop behind the first frame. */
async function* unzstd(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = framePieces(chunks);
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
    yield* through(createZstdDecompress(unpackOptions), frameFrom(next.value, pieces));
  }
}

interface FramePiece {
  bytes: Uint8Array;
  endsFrame: boolean;
}

async function* framePieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<FramePiece, undefined> {
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

async function* frameFrom(
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

function formatOf(first: Uint8Array): "plain" | "gzip" | "zstd" {
  if (first[0] === 0x1f && first[1] === 0x8b) return "gzip";
  const isZstd = first[0] === 0x28 && first[1] === 0xb5 && first[2] === 0x2f && first[3] === 0xfd;
  const isSkippable =
    (first[0]! & 0xf0) === 0x50 && first[1] === 0x2a && first[2] === 0x4d && first[3] === 0x18;
  return isZstd || isSkippable ? "zstd" : "plain";
}

async function* counted(input: InputFile, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    input.bytesRead += chunk.length;
    yield chunk;
  }
}

/** The first `length` bytes (fewer where there are no more), and all bytes again from the start. */
async function firstBytes(chunks: AsyncGenerator<Uint8Array>, length: number) {
  const held: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < length) {
    const next = await chunks.next();
    if (next.done) break;
    held.push(next.value);
    bytes += next.value.length;
  }
  async function* rest(): AsyncGenerator<Uint8Array> {
    yield* held;
    yield* chunks;
  }
  return { first: Buffer.concat(held).subarray(0, length), rest: rest() };
}
