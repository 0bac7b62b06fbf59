/**
 * Disk space for a commit of LMDB, reserved before the commit begins. LMDB itself must not meet a full disk, or one
 * that takes no writes: lmdb-js (3.5.6) then writes its error message past the end of the memory allocated for it
 * (`malloc(100)` in `mdb_page_flush`), which may end the process.
 *
 * The reservation is zeros written after the file's last page. It is not reliable on a file system that stores zeros as
 * holes or that copies on write. A large commit writes no zeros where the file system has far more space than it needs:
 * that would double what is written.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, statfsSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";
import { countOverflowPages, type Meta } from "./page.ts";

/** One key of a commit. */
export interface KeyChange {
  /** The new value; undefined where the key is removed. */
  value: Uint8Array | undefined;
  /** Overflow pages of the current value, which the commit frees. */
  currentOverflowPages: number;
}

/** The values that a commit sets, by the bytes of their keys; undefined where a key is removed. */
export type Changes = Map<string, { key: Uint8Array; value: Uint8Array | undefined }>;

/** For splits of the roots, and for rounding. */
const sparePages = 16;
const wordBytes = 8;
/** How much of a reservation is kept for the next commit. */
const keptBytes = 2 ** 20;
const zeros = Buffer.alloc(2 ** 20);
/** A reservation up to this size is always written. */
const writtenBytes = 4 * 2 ** 20;
/** Free space beside a large commit at which other processes cannot fill the disk before the commit ends. */
const freeBytesMin = 2 ** 30;
const writeAsync = promisify(write);

/**
 * Upper bound of the pages that a commit appends to the file: all that it writes, as if it could reuse no free page.
 */
export function commitPagesMax(meta: Meta, changes: readonly KeyChange[], pageBytes: number): number {
  // LMDB copies every page on the path to a key, and each of them may be split.
  let pages = 2 * (meta.main.depth + 1) * changes.length;
  let freed = pages;
  for (const { value, currentOverflowPages } of changes) {
    if (value !== undefined) pages += countOverflowPages(value.length, pageBytes);
    freed += currentOverflowPages;
  }
  const { main, free } = meta;
  const freeTree = free.branchPages + free.leafPages + free.overflowPages;
  const used = main.branchPages + main.leafPages + main.overflowPages;
  // A run of pages takes two words in a free list; a third of the list may be gaps, and it grows while it is written.
  const words = 4 * (freed + freeTree + Math.max(meta.lastPage - 1 - used, 0));
  const list = Math.ceil((words * wordBytes) / pageBytes);
  return pages + freeTree + 2 * list + 4 * (free.depth + 1) + sparePages;
}

/**
 * Reserves space after the last page of a data file that one environment writes. It keeps the end of the data in
 * memory, so that a damaged meta page cannot make it cut off data.
 */
export class CommitReservation {
  readonly #file: string;
  readonly #fd: number;
  readonly #pageBytes: number;
  /** End of the newest commit's last page, as a length of the file. */
  #dataEndBytes: number;
  /** End of the space reserved for the next commit. */
  #reservedEndBytes: number;

  /** `meta`: the newest, and audited. */
  constructor(file: string, meta: Meta, pageBytes: number) {
    this.#file = file;
    this.#fd = openSync(file, "r+");
    this.#pageBytes = pageBytes;
    this.#dataEndBytes = (meta.lastPage + 1) * pageBytes;
    this.#reservedEndBytes = this.#dataEndBytes;
  }

  /**
   * Reserves that many pages, at least one, and writes to the file even where they are reserved already: a file system
   * that takes no writes is found here. Throws the system's error (`ENOSPC`, `EROFS`, …) and then leaves the file as
   * it was.
   */
  async reserve(pages: number): Promise<void> {
    const before = this.#fileBytes();
    const end = this.#dataEndBytes + pages * this.#pageBytes;
    try {
      if (end <= before) {
        writeSync(this.#fd, zeros, 0, 1, before - 1);
      } else if (end - before <= zeros.length) {
        for (let at = before; at < end; ) at += writeSync(this.#fd, zeros, 0, end - at, at);
      } else if (end - before <= writtenBytes || !this.#hasPlenty(end - before)) {
        for (let at = before; at < end; ) {
          const length = Math.min(zeros.length, end - at);
          at += (await writeAsync(this.#fd, zeros, 0, length, at)).bytesWritten;
        }
      } else {
        writeSync(this.#fd, zeros, 0, 1, before);
      }
    } catch (error) {
      this.#shrinkTo(before);
      throw error;
    }
    this.#reservedEndBytes = Math.max(before, end);
  }

  #hasPlenty(bytes: number): boolean {
    const { bavail, bsize } = statfsSync(this.#file);
    return bavail * bsize > freeBytesMin + 2 * bytes;
  }

  /** Call it after a commit. Frees unused space. `meta`: that commit's, or undefined where it cannot be read. */
  releaseUnused(meta: Meta | undefined): void {
    const size = this.#fileBytes();
    // Where LMDB wrote past the reservation, nothing is cut off.
    const isWithin = meta !== undefined && size <= this.#reservedEndBytes;
    const end = isWithin ? Math.min((meta.lastPage + 1) * this.#pageBytes, size) : size;
    this.#dataEndBytes = Math.max(this.#dataEndBytes, end);
    this.#shrinkTo(this.#dataEndBytes + keptBytes);
  }

  /** Truncates the file to its last page and closes it. */
  close(): void {
    this.#shrinkTo(this.#dataEndBytes);
    closeSync(this.#fd);
  }

  #shrinkTo(bytes: number): void {
    if (this.#fileBytes() > bytes) ftruncateSync(this.#fd, bytes);
  }

  #fileBytes(): number {
    return fstatSync(this.#fd).size;
  }
}
