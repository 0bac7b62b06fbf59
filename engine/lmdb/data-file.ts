/**
 * Reads an LMDB data file with pread, while another thread or process may write to it. A damaged or truncated file is
 * an error here; LMDB's own memory map would kill the process.
 *
 * A snapshot's pages do not change until its meta page is overwritten: transaction n + 2 overwrites the meta page of n,
 * and n + 3 is the first to reuse pages of n's snapshot. So whatever was read is consistent if the meta page is
 * unchanged afterwards.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { Failure } from "../failure.ts";
import {
  checkOverflowHeader,
  keyBytesMax,
  type LeafNode,
  type Meta,
  makeDamage,
  metaBytes,
  Page,
  pageHeaderBytes,
  readMeta,
  readPageBytes,
  type ValueLocation,
} from "./page.ts";

/**
 * Milliseconds during which an interrupted read is retried. Commits that follow each other without a pause can
 * interrupt a read again and again.
 */
const retryMsMax = 10_000;
/** Cached tree pages of each open file: 1 MiB. */
const cachedPagesMax = 256;

export class DataFile {
  readonly file: string;
  readonly pageBytes: number;
  readonly #fd: number;
  /** The whole file, where the caller asked for it and it could be read. */
  readonly #bytes: Buffer | undefined;
  /** Both meta pages as last read: the whole first page, then the first `metaBytes` bytes of the second. */
  readonly #metaPages: Buffer;
  /** The content of `#metaPages` when `#newest` was decoded from it. */
  readonly #previousMetaPages: Buffer;
  #newest: Meta | undefined;
  /** Cached pages of the snapshot of `#newest`. */
  readonly #pages = new Map<number, Page>();
  /** The bytes of cached pages, in the order in which they were read. They are used again once the cache was emptied. */
  readonly #pageBuffers: Buffer[] = [];
  /** Buffers in use since the cache was emptied. */
  #usedBuffers = 0;
  /** Holds one page beside a path while it is checked. */
  #neighbour: Buffer | undefined;

  /**
   * `inMemory`: reads the whole file now and serves later reads from memory. Throws Failure "damage" where the file is
   * missing, is too short to have a meta page, or names an impossible page size.
   */
  constructor(file: string, { inMemory = false } = {}) {
    this.file = file;
    this.#fd = openForReading(file);
    try {
      const first = Buffer.alloc(metaBytes);
      this.pageBytes = readPageBytes(first.subarray(0, readSync(this.#fd, first, 0, metaBytes, 0)));
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
    this.#metaPages = Buffer.alloc(this.pageBytes + metaBytes);
    this.#previousMetaPages = Buffer.alloc(this.pageBytes + metaBytes);
    if (inMemory) this.#bytes = this.#readAll();
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Throws Failure "damage" where the file has no name any more: what is written to it is lost when it is closed. */
  checkLinked(): void {
    if (fstatSync(this.#fd).nlink === 0)
      throw new Failure("damage", `${this.file} was removed while it was open`);
  }

  /** Length of the file in bytes. */
  byteLength(): number {
    return this.#bytes?.length ?? fstatSync(this.#fd).size;
  }

  /** Undefined where some part of the file cannot be read; reads of other parts may still succeed. */
  #readAll(): Buffer | undefined {
    try {
      return this.read({ offset: 0, length: this.byteLength() });
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }

  /**
   * Runs `read` on the newest snapshot; repeats it where commits overwrote the snapshot meanwhile. Throws Failure
   * "damage", and "overload" where commits keep interrupting it.
   */
  readConsistently<T>(read: (meta: Meta) => T): T {
    const untilMs = performance.now() + retryMsMax;
    while (performance.now() < untilMs) {
      const meta = this.readNewestMeta();
      try {
        const result = read(meta);
        if (this.#isUnchanged(meta)) return result;
      } catch (error) {
        if (this.#isUnchanged(meta)) throw this.#withFileName(error);
      }
    }
    throw new Failure("overload", `${this.file}: it changes faster than it can be read`);
  }

  #withFileName(error: unknown): unknown {
    if (!(error instanceof Failure)) return error;
    return new Failure(error.kind, `${this.file}, ${error.message}`, { cause: error });
  }

  /** Returns the newest meta page, chosen as LMDB does. Throws Failure "damage" where either of the two is damaged. */
  readNewestMeta(): Meta {
    for (;;) {
      this.#readMetaPages();
      if (this.#newest !== undefined && this.#metaPages.equals(this.#previousMetaPages)) return this.#newest;
      this.#metaPages.copy(this.#previousMetaPages);
      this.#newest = undefined;
      this.#emptyCache();
      try {
        this.#newest = chooseNewest(this.#parseMeta(0), this.#parseMeta(1));
        return this.#newest;
      } catch (error) {
        // A commit may have been writing the meta page while it was read.
        this.#readMetaPages();
        if (this.#metaPages.equals(this.#previousMetaPages)) throw error;
      }
    }
  }

  /** The newest meta page, as it was read last. */
  get lastMeta(): Meta | undefined {
    return this.#newest;
  }

  #readMetaPages(): void {
    const read = readSync(this.#fd, this.#metaPages, 0, this.#metaPages.length, 0);
    this.#metaPages.fill(0, read);
  }

  #parseMeta(slot: number): Meta {
    const page = this.#metaPages.subarray(slot * this.pageBytes).subarray(0, metaBytes);
    return readMeta(page, slot, this.pageBytes);
  }

  #isUnchanged(meta: Meta): boolean {
    this.#readMetaPages();
    const at = meta.slot * this.pageBytes;
    return this.#metaPages.compare(meta.bytes, 0, metaBytes, at, at + metaBytes) === 0;
  }

  /**
   * Finds the leaf node of `key` in the main tree; its key is valid until the next call. Throws Failure "damage" where a
   * page on its path is damaged.
   */
  find(meta: Meta, key: Uint8Array): LeafNode | undefined {
    if (meta.main.root === undefined || key.length > keyBytesMax(this.pageBytes)) return undefined;
    let number = meta.main.root;
    for (let level = 1; level < meta.main.depth; level++) {
      const page = this.#readCachedPage(meta, number, false);
      if (page.nodeCount < 2) throw makeDamage(`page ${number}`, "a branch with fewer than two children");
      number = page.branchNode(Math.max(page.search(key), 0)).page;
    }
    const leaf = this.#readCachedPage(meta, number, true);
    const index = leaf.search(key);
    if (index < 0) return undefined;
    const node = leaf.leafNode(index);
    return node.key.equals(key) ? node : undefined;
  }

  /**
   * Checks the pages of the main tree that a change of `key` may touch: those on its path and, where the key is removed,
   * their neighbours, with which LMDB may merge them. Pages in `checked` are left out, and those that were read are
   * added. Reads the file, not the cache, as LMDB will. Throws Failure "damage".
   */
  checkTouched(meta: Meta, key: Uint8Array, isRemoved: boolean, checked: Set<number>): void {
    let touched = meta.main.root === undefined ? [] : [meta.main.root];
    for (let level = 1; level <= meta.main.depth && touched.length > 0; level++) {
      const isLeaf = level === meta.main.depth;
      for (const number of touched) {
        if (checked.has(number)) continue;
        // What looks for the key next need not read its path again. Neighbours are read for this check alone.
        const isOnPath = number === touched[0];
        const page = isOnPath
          ? this.#readIntoCache(meta, number, isLeaf)
          : this.#readNeighbour(meta, number, isLeaf);
        page.checkTiling();
        checked.add(number);
      }
      if (!isLeaf)
        touched = listTouchedChildren(this.#readCachedPage(meta, touched[0]!, false), key, isRemoved);
    }
  }

  /** The page is valid until the next call. */
  #readCachedPage(meta: Meta, number: number, isLeaf: boolean): Page {
    const cached = this.#pages.get(number);
    if (cached?.isLeaf === isLeaf && meta === this.#newest) return cached;
    return this.#readIntoCache(meta, number, isLeaf);
  }

  /** Reads the page from the file, in the place of what the cache has of it. */
  #readIntoCache(meta: Meta, number: number, isLeaf: boolean): Page {
    checkPageNumber(meta, number);
    if (this.#usedBuffers === cachedPagesMax || this.#pages.size === cachedPagesMax) this.#emptyCache();
    this.#pages.delete(number);
    const page = new Page(this.#readCacheBytes(number), number, isLeaf, meta.transactionId);
    this.#pages.set(number, page);
    return page;
  }

  #readCacheBytes(number: number): Buffer {
    const location = { offset: number * this.pageBytes, length: this.pageBytes };
    if (this.#bytes !== undefined) return this.read(location);
    const index = this.#usedBuffers++;
    const bytes = this.#pageBuffers[index] ?? Buffer.allocUnsafeSlow(this.pageBytes);
    this.#pageBuffers[index] = bytes;
    this.#readInto(bytes, location.offset);
    return bytes;
  }

  #emptyCache(): void {
    this.#pages.clear();
    this.#usedBuffers = 0;
  }

  /** Reads a page as `readPage` does, into a buffer that the next call uses again. */
  #readNeighbour(meta: Meta, number: number, isLeaf: boolean): Page {
    checkPageNumber(meta, number);
    this.#neighbour ??= Buffer.allocUnsafeSlow(this.pageBytes);
    this.#readInto(this.#neighbour, number * this.pageBytes);
    return new Page(this.#neighbour, number, isLeaf, meta.transactionId);
  }

  /** Reads a page of a tree from the file, without the cache. Throws Failure "damage". */
  readPage(meta: Meta, number: number, isLeaf: boolean): Page {
    checkPageNumber(meta, number);
    const bytes = this.read({ offset: number * this.pageBytes, length: this.pageBytes });
    return new Page(bytes, number, isLeaf, meta.transactionId);
  }

  /** Checks the header of a value's overflow pages, which LMDB trusts when it frees them. Throws Failure "damage". */
  checkOverflow(meta: Meta, { page, pages }: { page: number; pages: number }): void {
    const header = this.read({ offset: page * this.pageBytes, length: pageHeaderBytes });
    checkOverflowHeader(header, page, pages, meta.transactionId);
  }

  /**
   * Reads bytes of the file into a new buffer, or returns a view where the whole file is in memory. Throws Failure
   * "damage" where the file is shorter or the disk cannot read it.
   */
  read(location: ValueLocation): Buffer {
    return this.#read(location, Buffer.allocUnsafeSlow);
  }

  /**
   * As `read`, but the bytes are valid until the next call for any file on this thread. The memory of a new buffer must
   * be mapped page by page, which takes longer than reading the bytes.
   */
  view(location: ValueLocation): Buffer {
    return this.#read(location, takeViewBytes);
  }

  /** As `view`, of parts of a value: their places count from its beginning. */
  viewParts(value: ValueLocation, parts: readonly ValueLocation[]): Buffer[] {
    const bytes = takeViewBytes(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    return parts.map(({ offset, length }) => {
      if (offset + length > value.length)
        throw makeDamage(`byte ${value.offset}`, `the value there has only ${value.length} bytes`);
      const part = bytes.subarray(at, at + length);
      at += length;
      if (this.#bytes === undefined) this.#readInto(part, value.offset + offset);
      else part.set(this.read({ offset: value.offset + offset, length }));
      return part;
    });
  }

  #read({ offset, length }: ValueLocation, allocate: (length: number) => Buffer): Buffer {
    // Checked before the allocation: a damaged length may exceed the memory.
    if (length > viewBytesMax && offset + length > this.byteLength()) {
      throw makeDamage(`byte ${offset}`, `the file ends within the ${length} bytes from there`);
    }
    if (this.#bytes !== undefined && offset + length <= this.#bytes.length) {
      return this.#bytes.subarray(offset, offset + length);
    }
    const bytes = allocate(length);
    this.#readInto(bytes, offset);
    return bytes;
  }

  #readInto(bytes: Buffer, offset: number): void {
    let done = 0;
    while (done < bytes.length) {
      const read = this.#readSome(bytes, done, offset + done);
      if (read === 0) throw makeDamage(`byte ${offset + done}`, "the file ends before it");
      done += read;
    }
  }

  #readSome(bytes: Buffer, from: number, offset: number): number {
    try {
      return readSync(this.#fd, bytes, from, bytes.length - from, offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EIO") throw error;
      throw makeDamage(`byte ${offset}`, "the disk cannot read it");
    }
  }
}

/** The bytes that `view` read last. */
let viewBytes = Buffer.alloc(0);
/** Longer values are read into buffers of their own. */
const viewBytesMax = 8 * 1024 * 1024;

function takeViewBytes(length: number): Buffer {
  if (length > viewBytesMax) return Buffer.allocUnsafeSlow(length);
  if (length > viewBytes.length) viewBytes = Buffer.allocUnsafeSlow(Math.min(length * 2, viewBytesMax));
  return viewBytes.subarray(0, length);
}

function checkPageNumber(meta: Meta, number: number): void {
  if (number < 2 || number > meta.lastPage) throw makeDamage(`page ${number}`, "there is no such page");
}

/** Numbers of the child whose range holds `key`, first, and of its neighbours where these are asked for. */
function listTouchedChildren(page: Page, key: Uint8Array, withNeighbours: boolean): number[] {
  const index = Math.max(page.search(key), 0);
  const indexes = withNeighbours ? [index, index - 1, index + 1] : [index];
  return indexes.filter((i) => i >= 0 && i < page.nodeCount).map((i) => page.branchNode(i).page);
}

function openForReading(file: string): number {
  try {
    return openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw makeDamage(file, "the file is missing");
  }
}

/**
 * Returns the meta page with the higher transaction number. Throws Failure "damage" unless the pages belong to
 * successive transactions, or both to transaction 0, as in a file without any commit.
 */
function chooseNewest(first: Meta, second: Meta): Meta {
  const isNew = first.transactionId === 0 && second.transactionId === 0;
  if (!isNew && Math.abs(first.transactionId - second.transactionId) !== 1) {
    const problem = `snapshots ${first.transactionId} and ${second.transactionId} do not follow each other`;
    throw makeDamage("pages 0 and 1", problem);
  }
  return first.transactionId >= second.transactionId ? first : second;
}
