/**
 * Salvage: finds every intact frame in a damaged data file by its magic bytes, without using the trees, and builds a
 * new environment of the wanted ones.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import {
  frameBytesAt,
  frameHeaderBytes,
  frameMagic,
  isIntactFrame,
  isKnownCodec,
  readFrameChecksum,
} from "../files/frame.ts";
import { fillEnvironment } from "./environment.ts";

export interface SalvagedFrame {
  /** Where the frame begins in the file, in bytes. */
  offset: number;
  /** A view that is valid until the next frame is requested. */
  frame: Buffer;
}

const windowBytes = 4 * 2 ** 20;
/**
 * The smallest read that is retried after a read error: where the disk cannot read one sector, others may be readable.
 */
const sectorBytes = 4096;

/**
 * Yields every intact frame in `file`, in the order of the file. Frames of removed and replaced values are among them,
 * as long as LMDB has not reused their pages. A missing file yields none.
 */
export function* salvageFrames(file: string): Iterable<SalvagedFrame> {
  if (!existsSync(file)) return;
  const fd = openSync(file, "r");
  try {
    const scanner = new FrameScanner(fd);
    let at = scanner.findMagic(0);
    while (at !== undefined) {
      const frame = scanner.readFrameAt(at);
      if (frame !== undefined) yield { offset: at, frame };
      at = scanner.findMagic(at + (frame?.length ?? frameMagic.length));
    }
  } finally {
    closeSync(fd);
  }
}

/**
 * Builds a new environment in `toDir` of frames salvaged in `fromDir`. `wanted` has the checksum of each wanted frame,
 * by key in hexadecimal. Returns how many were found and the keys of those that were not. Throws Failure "disk-full".
 */
export async function rebuildEnvironment(
  fromDir: string,
  toDir: string,
  wanted: ReadonlyMap<string, number>,
): Promise<{ restored: number; missing: string[] }> {
  const missing = new Set(wanted.keys());
  await fillEnvironment(toDir, wantedFrames(join(fromDir, "data.mdb"), wanted, missing));
  return { restored: wanted.size - missing.size, missing: [...missing] };
}

function* wantedFrames(
  file: string,
  wanted: ReadonlyMap<string, number>,
  missing: Set<string>,
): Iterable<[Uint8Array, Uint8Array]> {
  for (const { frame } of salvageFrames(file)) {
    const key = frame.subarray(frameHeaderBytes, frameHeaderBytes + frame.readUInt16LE(8));
    const name = key.toString("hex");
    if (!missing.has(name) || wanted.get(name) !== readFrameChecksum(frame)) continue;
    missing.delete(name);
    yield [Buffer.from(key), Buffer.from(frame)];
  }
}

/** Scans a file for frames through a window that moves forward. */
class FrameScanner {
  readonly #fd: number;
  readonly #fileBytes: number;
  readonly #memory: Buffer;
  #window: Buffer;
  /** Offset of the window in the file. */
  #start = 0;
  /** Buffer for a frame that does not lie completely in the window; grows as needed. */
  #large = Buffer.alloc(0);

  constructor(fd: number) {
    this.#fd = fd;
    this.#fileBytes = fstatSync(fd).size;
    this.#memory = Buffer.alloc(Math.min(windowBytes, this.#fileBytes));
    this.#window = this.#memory.subarray(0, 0);
  }

  /** Returns the offset of the first magic bytes at or after `from`. */
  findMagic(from: number): number | undefined {
    let at = from;
    while (at + frameHeaderBytes <= this.#fileBytes) {
      if (at < this.#start || at + frameHeaderBytes > this.#start + this.#window.length) this.#moveWindow(at);
      const found = this.#window.indexOf(frameMagic, at - this.#start);
      if (found >= 0) return this.#start + found;
      at = this.#start + this.#window.length - frameMagic.length + 1;
    }
    return undefined;
  }

  /** Returns the intact frame at an offset, or undefined where there is none. */
  readFrameAt(at: number): Buffer | undefined {
    if (at + frameHeaderBytes > this.#start + this.#window.length) this.#moveWindow(at);
    const header = this.#window.subarray(at - this.#start);
    const length = frameBytesAt(header, 0);
    if (length === undefined || at + length > this.#fileBytes || !isPlausible(header)) return undefined;
    let frame = header.subarray(0, length);
    if (frame.length < length) {
      if (this.#large.length < length) this.#large = Buffer.allocUnsafeSlow(length);
      frame = this.#large.subarray(0, length);
      readOrZeroFill(this.#fd, frame, at);
    }
    return isIntactFrame(frame) ? frame : undefined;
  }

  #moveWindow(to: number): void {
    this.#start = to;
    this.#window = this.#memory.subarray(0, Math.min(this.#memory.length, this.#fileBytes - to));
    readOrZeroFill(this.#fd, this.#window, to);
  }
}

/**
 * Returns whether a frame header may be a real one. Without this check, text that happens to contain the magic bytes
 * could give a length of gigabytes, all of which would be read for a checksum.
 */
function isPlausible(header: Buffer): boolean {
  return header.readUInt8(10) <= 15 && isKnownCodec(header.readUInt8(11)) && header.readUInt32LE(20) === 0;
}

/**
 * Fills `bytes` from the file. Sectors that the disk cannot read, and bytes beyond the end of the file, become zeros.
 */
function readOrZeroFill(fd: number, bytes: Buffer, offset: number): void {
  try {
    let done = 0;
    for (let read = -1; read !== 0 && done < bytes.length; done += read) {
      read = readSync(fd, bytes, done, bytes.length - done, offset + done);
    }
    bytes.fill(0, done);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EIO") throw error;
    if (bytes.length <= sectorBytes) {
      bytes.fill(0);
      return;
    }
    const half = Math.ceil(bytes.length / 2 / sectorBytes) * sectorBytes;
    readOrZeroFill(fd, bytes.subarray(0, half), offset);
    readOrZeroFill(fd, bytes.subarray(half), offset + half);
  }
}
