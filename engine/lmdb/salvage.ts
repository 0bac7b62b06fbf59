/**
 * Finds the frames that a damaged data file still holds, whatever became of the trees that led to them, and makes a new
 * environment of those that are wanted.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { frameBytesAt, frameChecksum, frameHeaderBytes, frameIsWhole, frameMagic } from "../files/frame.ts";
import { fillEnvironment } from "./environment.ts";

export interface SalvagedFrame {
  /** Where the frame begins in the file, in bytes. */
  offset: number;
  /** The bytes are overwritten when the next frame is asked for. */
  frame: Buffer;
}

const windowBytes = 4 * 2 ** 20;
/** A disk that cannot read a piece of the file may still read its neighbours. */
const sectorBytes = 4096;

/**
 * Every whole frame in `file`, in the order of the file, those of removed and replaced values among them; none where
 * the file is missing.
 */
export function* salvageFrames(file: string): Iterable<SalvagedFrame> {
  if (!existsSync(file)) return;
  const fd = openSync(file, "r");
  try {
    const source = new Source(fd);
    let at = source.findMagic(0);
    while (at !== undefined) {
      const frame = source.frameAt(at);
      if (frame !== undefined) yield { offset: at, frame };
      at = source.findMagic(at + (frame?.length ?? frameMagic.length));
    }
  } finally {
    closeSync(fd);
  }
}

/**
 * Makes a new environment in `toDir` of the frames in `fromDir` that are wanted: by key in hexadecimal, the checksum of
 * the frame. `missing` are the keys whose frame is in no whole piece. Throws Failure "disk-full".
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
    if (!missing.has(name) || wanted.get(name) !== frameChecksum(frame)) continue;
    missing.delete(name);
    yield [Buffer.from(key), Buffer.from(frame)];
  }
}

/** A file read through a window that moves forwards. */
class Source {
  readonly #fd: number;
  readonly #fileBytes: number;
  readonly #memory: Buffer;
  #window: Buffer;
  /** Where the window begins in the file. */
  #start = 0;
  /** For frames that the window does not hold whole. */
  #large = Buffer.alloc(0);

  constructor(fd: number) {
    this.#fd = fd;
    this.#fileBytes = fstatSync(fd).size;
    this.#memory = Buffer.alloc(Math.min(windowBytes, this.#fileBytes));
    this.#window = this.#memory.subarray(0, 0);
  }

  /** Offset of the first magic not before `from`. */
  findMagic(from: number): number | undefined {
    let at = from;
    while (at + frameHeaderBytes <= this.#fileBytes) {
      if (at < this.#start || at + frameHeaderBytes > this.#start + this.#window.length) this.#move(at);
      const found = this.#window.indexOf(frameMagic, at - this.#start);
      if (found >= 0) return this.#start + found;
      at = this.#start + this.#window.length - frameMagic.length + 1;
    }
    return undefined;
  }

  frameAt(at: number): Buffer | undefined {
    if (at + frameHeaderBytes > this.#start + this.#window.length) this.#move(at);
    const header = this.#window.subarray(at - this.#start);
    const length = frameBytesAt(header, 0);
    if (length === undefined || at + length > this.#fileBytes || !isPlausible(header)) return undefined;
    let frame = header.subarray(0, length);
    if (frame.length < length) {
      if (this.#large.length < length) this.#large = Buffer.allocUnsafeSlow(length);
      frame = this.#large.subarray(0, length);
      readWhatCanBe(this.#fd, frame, at);
    }
    return frameIsWhole(frame) ? frame : undefined;
  }

  #move(to: number): void {
    this.#start = to;
    this.#window = this.#memory.subarray(0, Math.min(this.#memory.length, this.#fileBytes - to));
    readWhatCanBe(this.#fd, this.#window, to);
  }
}

/** Text that happens to hold the magic would make claims of gigabytes, each to be read for its checksum. */
function isPlausible(header: Buffer): boolean {
  return header.readUInt8(10) <= 15 && header.readUInt8(11) <= 1 && header.readUInt32LE(20) === 0;
}

/** Fills `bytes` from the file; what the disk cannot read, or the file no longer holds, becomes zeros. */
function readWhatCanBe(fd: number, bytes: Buffer, offset: number): void {
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
    readWhatCanBe(fd, bytes.subarray(0, half), offset);
    readWhatCanBe(fd, bytes.subarray(half), offset + half);
  }
}
