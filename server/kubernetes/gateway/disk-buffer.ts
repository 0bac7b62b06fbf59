/**
 * A queue of bodies on disk while the hub is away: bounded, in order, and whole again after the process was killed. One
 * process has a folder.
 */

import { type FileHandle, mkdir, open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { encodeEntry, type OutgoingBody } from "./buffer-entry.ts";
import { BufferSegment } from "./buffer-segment.ts";
import { segmentBytesMax, segmentsMin } from "./limits.ts";

export interface DiskBufferOptions {
  dir: string;
  /** Bytes of all segments. Above it the oldest segment is dropped. */
  bytesMax: number;
  /** Called with the number of bodies that were dropped before they were taken. */
  onDropped: (bodies: number, reason: "overflow" | "damage") => void;
  /** Called where the disk does not do what it is asked to, and the buffer goes on. */
  onProblem: (problem: string) => void;
}

interface Waiting {
  entry: Buffer;
  resolve: () => void;
  reject: (error: unknown) => void;
}

const segmentName = /^([0-9]{12})\.segment$/;
const positionBytes = 20;

export class DiskBuffer {
  readonly #options: DiskBufferOptions;
  readonly #position: FileHandle;
  /** Oldest first; entries are appended to the last one. */
  #segments: BufferSegment[];
  /** Segments that are done, and that the disk did not remove yet. */
  #leftOver: BufferSegment[] = [];
  #nextNumber: number;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  /** The segment and the bytes of the entry that was peeked and is not yet taken. */
  #peeked: { segment: BufferSegment; bytes: number } | undefined;
  #onFilled: (() => void) | undefined;
  #isClosed = false;

  private constructor(
    options: DiskBufferOptions,
    position: FileHandle,
    segments: BufferSegment[],
    nextNumber: number,
  ) {
    this.#options = options;
    this.#position = position;
    this.#segments = segments;
    this.#nextNumber = nextNumber;
  }

  static async open(options: DiskBufferOptions): Promise<DiskBuffer> {
    const { dir } = options;
    await mkdir(dir, { recursive: true });
    const path = join(dir, "position");
    const position = await readPosition(path);
    const numbers = (await readdir(dir)).flatMap((name) => {
      const number = segmentName.exec(name)?.[1];
      return number === undefined ? [] : [Number(number)];
    });
    const segments: BufferSegment[] = [];
    const done: BufferSegment[] = [];
    for (const number of numbers.sort((a, b) => a - b)) {
      const readAt =
        number < position.segment ? Number.POSITIVE_INFINITY : number === position.segment ? position.at : 0;
      const segment = await BufferSegment.reopen(segmentPath(dir, number), number, readAt);
      // Only the newest segment may end in an entry that was being written.
      if (segment.isCut && number !== Math.max(...numbers)) options.onDropped(1, "damage");
      (segment.readAt >= segment.bytes ? done : segments).push(segment);
    }
    const handle = await open(path, "a+").then(async (file) => {
      await file.close();
      return open(path, "r+");
    });
    const nextNumber = Math.max(position.segment, ...numbers) + 1;
    const buffer = new DiskBuffer(options, handle, segments, nextNumber);
    // Takes its bytes of the disk now: they are there when the disk is full.
    await buffer.#writePosition(position.segment, position.at);
    for (const segment of done) await buffer.#remove(segment);
    return buffer;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bodies that were not taken yet. */
  get bodies(): number {
    return this.#segments.reduce((sum, { entries, taken }) => sum + entries - taken, 0);
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#writing === undefined && this.bodies === 0;
  }

  /** Resolves once the body is on disk. Throws where the disk does not take it, or it is larger than the buffer. */
  append(body: OutgoingBody): Promise<void> {
    const entry = encodeEntry(body);
    if (entry.length > this.#options.bytesMax) {
      return Promise.reject(
        new Error(`the body is larger than the buffer of ${this.#options.bytesMax} bytes`),
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ entry, resolve, reject });
    this.#writing ??= this.#write();
    return promise;
  }

  /** The oldest body that was not taken; undefined where there is none. */
  async peek(): Promise<OutgoingBody | undefined> {
    for (;;) {
      const [segment] = this.#segments;
      if (segment === undefined) return undefined;
      const next = await segment
        .read()
        .catch(() => ({ body: undefined, bytes: segment.bytes - segment.readAt }));
      // The segment was dropped meanwhile.
      if (segment !== this.#segments[0]) continue;
      if (next === null) {
        if (this.#segments.length === 1) return undefined;
        await this.#remove(this.#segments.shift()!);
      } else if (next.body === undefined) {
        // Behind a damaged header the next entry cannot be found.
        const isRest = segment.readAt + next.bytes >= segment.bytes;
        this.#options.onDropped(isRest ? segment.entries - segment.taken : 1, "damage");
        await this.#advance(segment, next.bytes);
      } else {
        this.#peeked = { segment, bytes: next.bytes };
        return next.body;
      }
    }
  }

  /** Takes the body that was peeked: it is not returned again, unless the process is killed before this resolves. */
  async take(): Promise<void> {
    const peeked = this.#peeked;
    this.#peeked = undefined;
    if (peeked === undefined || !this.#segments.includes(peeked.segment)) return;
    await this.#advance(peeked.segment, peeked.bytes);
  }

  /** Leaves the body that was peeked. It counts as dropped where its segment was dropped meanwhile. */
  leave(): void {
    const peeked = this.#peeked;
    this.#peeked = undefined;
    if (peeked !== undefined && !this.#segments.includes(peeked.segment))
      this.#options.onDropped(1, "overflow");
  }

  /** Resolves when the buffer has a body, or is closed. */
  async filled(): Promise<void> {
    if (this.bodies > 0 || this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.#onFilled = resolve;
    });
  }

  /** Wakes whoever waits for a body. */
  wake(): void {
    this.#onFilled?.();
    this.#onFilled = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.wake();
    await this.#writing;
    for (const segment of this.#segments) await segment.close();
    await this.#position.close();
  }

  /** Writes what waits. Bodies that arrive meanwhile share the next write and its wait for the disk. */
  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#takeWaiting();
      try {
        const bytes = batch.reduce((sum, { entry }) => sum + entry.length, 0);
        const segment = await this.#segmentFor(bytes);
        await segment.append(batch.map(({ entry }) => entry));
        for (const { resolve } of batch) resolve();
        this.wake();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#writing = undefined;
  }

  /** The first bodies that wait, as many as fit one segment. */
  #takeWaiting(): Waiting[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(({ entry }, i) => {
      bytes += entry.length;
      return i > 0 && bytes > this.#segmentBytes;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  get #segmentBytes(): number {
    return Math.min(segmentBytesMax, Math.ceil(this.#options.bytesMax / segmentsMin));
  }

  async #segmentFor(bytes: number): Promise<BufferSegment> {
    while (this.#segments.length > 0 && this.bytes + bytes > this.#options.bytesMax) await this.#dropOldest();
    const last = this.#segments.at(-1);
    if (last !== undefined && last.bytes + bytes <= this.#segmentBytes) return last;
    const number = this.#nextNumber++;
    const segment = await BufferSegment.create(segmentPath(this.#options.dir, number), number);
    this.#segments.push(segment);
    await syncFolder(this.#options.dir);
    return segment;
  }

  async #dropOldest(): Promise<void> {
    const segment = this.#segments.shift()!;
    // What becomes of a body that is being sent is not known yet.
    const sending = this.#peeked?.segment === segment ? 1 : 0;
    const dropped = segment.entries - segment.taken - sending;
    if (dropped > 0) this.#options.onDropped(dropped, "overflow");
    await this.#remove(segment);
  }

  /**
   * Removes the file of a segment that is not in the list any more, and those that could not be removed before. No body
   * of them is returned again, whether the disk removes them or not.
   */
  async #remove(segment: BufferSegment): Promise<void> {
    const leftOver = this.#leftOver;
    this.#leftOver = [];
    for (const each of [...leftOver, segment]) {
      try {
        await each.remove();
      } catch (error) {
        this.#leftOver.push(each);
        if (each === segment)
          this.#options.onProblem(`${each.path} is removed later: ${(error as Error).message}`);
      }
    }
  }

  async #advance(segment: BufferSegment, bytes: number): Promise<void> {
    segment.readAt += bytes;
    segment.taken++;
    if (segment.readAt >= segment.bytes) segment.taken = segment.entries;
    await this.#writePosition(segment.number, segment.readAt);
    if (segment.readAt >= segment.bytes && this.#segments.length > 1 && this.#segments[0] === segment) {
      await this.#remove(this.#segments.shift()!);
    }
  }

  /** A position that the disk does not take does no harm: bodies are sent again, and the hub drops them by their keys. */
  async #writePosition(segment: number, at: number): Promise<void> {
    await this.#position.write(encodePosition(segment, at), 0, positionBytes, 0).catch(() => undefined);
  }
}

function segmentPath(dir: string, number: number): string {
  return join(dir, `${String(number).padStart(12, "0")}.segment`);
}

function encodePosition(segment: number, at: number): Buffer {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeBigUInt64LE(BigInt(segment), 0);
  bytes.writeBigUInt64LE(BigInt(at), 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 16)), 16);
  return bytes;
}

/**
 * Where the last process stopped. A position that was lost, or is older than what was sent, costs requests and no rows
 * twice: the hub knows the idempotency keys.
 */
async function readPosition(path: string): Promise<{ segment: number; at: number }> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0));
  if (bytes.length !== positionBytes || bytes.readUInt32LE(16) !== crc32(bytes.subarray(0, 16))) {
    return { segment: 0, at: 0 };
  }
  return { segment: Number(bytes.readBigUInt64LE(0)), at: Number(bytes.readBigUInt64LE(8)) };
}

/** Without this a new file may be gone after a loss of power. */
async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
