/**
 * Room on the disk for a commit of LMDB, taken before it begins: where LMDB itself meets a full disk, lmdb-js writes its report past
 * the end of the memory that it took for it (`malloc(100)` in `mdb_page_flush`, 3.5.6), which may end the process.
 *
 * The room is zeros behind the file's last page. A file system that stores zeros as holes, or moves what is overwritten, gives no such
 * promise.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { type Meta, overflowPages } from "./page.ts";

/** A key to be written: its value (undefined where it is removed) and the pages that its value has now. */
export interface KeyChange {
  value: Uint8Array | undefined;
  pagesNow: number;
}

/** Pages of roots that are split, and of what is rounded. */
const sparePages = 16;
const wordBytes = 8;
/** Of the room for a commit so much stays for the next one. */
const keptBytes = 2 ** 20;
const zeros = Buffer.alloc(2 ** 20);

/** Pages that a commit appends to the file at most: as many as it writes, were none of the free ones of use to it. */
export function commitPagesMax(meta: Meta, changes: readonly KeyChange[], pageBytes: number): number {
  // A path to the key is copied, and each of its pages may be split.
  let pages = 2 * (meta.main.depth + 1) * changes.length;
  let freed = pages;
  for (const { value, pagesNow } of changes) {
    if (value !== undefined) pages += overflowPages(value.length, pageBytes);
    freed += pagesNow;
  }
  const { main, free } = meta;
  const freeTree = free.branchPages + free.leafPages + free.overflowPages;
  const used = main.branchPages + main.leafPages + main.overflowPages;
  // Of a run of pages two words are listed; a third of the list may be gaps, and it is written while it grows.
  const words = 4 * (freed + freeTree + Math.max(meta.lastPage - 1 - used, 0));
  const list = Math.ceil((words * wordBytes) / pageBytes);
  return pages + freeTree + 2 * list + 4 * (free.depth + 1) + sparePages;
}

/** The end of a data file that one environment writes. Where it is known in memory, a damaged record of it can do no harm. */
export class CommitSize {
  readonly #fd: number;
  readonly #pageBytes: number;
  /** Behind the last page of the newest commit, and behind the room of the next one. */
  #endBytes: number;
  #roomEndBytes: number;

  /** `meta`: sound, and the newest. */
  constructor(file: string, meta: Meta, pageBytes: number) {
    this.#fd = openSync(file, "r+");
    this.#pageBytes = pageBytes;
    this.#endBytes = (meta.lastPage + 1) * pageBytes;
    this.#roomEndBytes = this.#endBytes;
  }

  /** Makes room for so many pages. The system's error (`ENOSPC`, …) leaves the file as it was. */
  take(pages: number): void {
    const before = this.#size();
    const end = this.#endBytes + pages * this.#pageBytes;
    try {
      for (let at = before; at < end; ) {
        at += writeSync(this.#fd, zeros, 0, Math.min(zeros.length, end - at), at);
      }
    } catch (error) {
      ftruncateSync(this.#fd, before);
      throw error;
    }
    this.#roomEndBytes = Math.max(before, end);
  }

  /** After a commit: gives back what it did not need. `meta`: that commit's, or undefined where it cannot be read. */
  committed(meta: Meta | undefined): void {
    const size = this.#size();
    // Where LMDB wrote beyond its room, nothing is cut off.
    const isWithin = meta !== undefined && size <= this.#roomEndBytes;
    const end = isWithin ? Math.min((meta.lastPage + 1) * this.#pageBytes, size) : size;
    this.#endBytes = Math.max(this.#endBytes, end);
    this.#cut(this.#endBytes + keptBytes);
  }

  /** The file ends with its last page then. */
  close(): void {
    this.#cut(this.#endBytes);
    closeSync(this.#fd);
  }

  #cut(bytes: number): void {
    if (this.#size() > bytes) ftruncateSync(this.#fd, bytes);
  }

  #size(): number {
    return fstatSync(this.#fd).size;
  }
}
