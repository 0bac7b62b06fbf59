/** Where the bytes of a log file come from: an open file, or one that is being decompressed. */

import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, realpathSync } from "node:fs";
import { sep } from "node:path";
import { createGunzip, type Gunzip } from "node:zlib";

export interface LogSource {
  /** Bytes that there are now. Of a compressed file one more than were read, until its end is known. */
  size(): number;
  /** Reads into the beginning of `into`, from `offset` on. Returns the number of bytes, fewer only at the end. */
  read(into: Buffer, offset: number): number | Promise<number>;
  close(): void;
}

/** What a path names. */
export interface FilePlace {
  dev: number;
  ino: number;
  size: number;
}

/** An open file. Calls are synchronous: pages of a log are in the page cache, where a read takes microseconds. */
export class OpenFile implements LogSource {
  readonly place: FilePlace;
  readonly #fd: number;

  /**
   * Opens a regular file. A link is followed only into `linkTargets`: else a link that a pod made could send any file
   * of the node. Throws where it is no such file.
   */
  constructor(path: string, linkTargets: readonly string[]) {
    this.#fd = openFollowing(path, linkTargets);
    const stats = fstatSync(this.#fd);
    this.place = { dev: stats.dev, ino: stats.ino, size: stats.size };
    if (stats.isFile()) return;
    closeSync(this.#fd);
    throw new Error(`${path} is no regular file`);
  }

  size(): number {
    return fstatSync(this.#fd).size;
  }

  read(into: Buffer, offset: number): number {
    let length = 0;
    while (length < into.length) {
      const read = readSync(this.#fd, into, length, into.length - length, offset + length);
      if (read === 0) break;
      length += read;
    }
    return length;
  }

  /** The first bytes, `length` at most. */
  head(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, this.read(bytes, 0));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function openFollowing(path: string, linkTargets: readonly string[]): number {
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return openSync(path, flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
  }
  const target = realpathSync(path);
  if (!linkTargets.some((folder) => target.startsWith(folder + sep))) {
    throw new Error(`${path} is a link to ${target}, which is outside of ${linkTargets.join(" and ")}`);
  }
  return openSync(target, flags);
}

/** The size that a compressed file had, modulo 2^32: its last four bytes, where it has one member. */
export function unpackedSize(file: OpenFile): number {
  const bytes = Buffer.alloc(4);
  const isWhole = file.place.size >= 4 && file.read(bytes, file.place.size - 4) === 4;
  return isWhole ? bytes.readUInt32LE() : 0;
}

/** A file that gzip has compressed, read forwards. Going back decompresses it again from its beginning. */
export class GzipFile implements LogSource {
  readonly #path: string;
  #gunzip: Gunzip | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  /** Decompressed bytes that were not read yet, and the offset of their first one. */
  #rest: Buffer = Buffer.alloc(0);
  #restOffset = 0;
  #end: number | undefined;
  readonly #gauge: { openGzipFiles: number };

  /** `gauge` counts the files that are being decompressed. */
  constructor(path: string, gauge: { openGzipFiles: number }) {
    this.#path = path;
    this.#gauge = gauge;
  }

  get isOpen(): boolean {
    return this.#gunzip !== undefined;
  }

  size(): number {
    return this.#end ?? Number.MAX_SAFE_INTEGER;
  }

  async read(into: Buffer, offset: number): Promise<number> {
    if (this.#gunzip === undefined || offset < this.#restOffset) this.#restart();
    let length = 0;
    while (length < into.length) {
      const from = offset + length - this.#restOffset;
      if (from < this.#rest.length) {
        length += this.#rest.copy(into, length, from);
        continue;
      }
      const next = await this.#chunks!.next();
      if (next.done === true) {
        this.#end = this.#restOffset + this.#rest.length;
        break;
      }
      this.#restOffset += this.#rest.length;
      this.#rest = next.value;
    }
    return length;
  }

  close(): void {
    if (this.#gunzip === undefined) return;
    this.#gunzip.destroy();
    this.#gauge.openGzipFiles--;
    this.#gunzip = undefined;
    this.#chunks = undefined;
    this.#rest = Buffer.alloc(0);
  }

  #restart(): void {
    this.close();
    this.#restOffset = 0;
    const fd = openSync(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const file = createReadStream(this.#path, { fd });
    const gunzip = createGunzip();
    file.once("error", (error) => gunzip.destroy(error));
    gunzip.once("close", () => file.destroy());
    this.#gauge.openGzipFiles++;
    this.#gunzip = file.pipe(gunzip);
    this.#chunks = gunzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }
}
