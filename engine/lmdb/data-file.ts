/**
 * Reads an LMDB data file with plain reads, while another thread or process may be writing to it: a damaged or
 * shortened file then is an error here, where LMDB's own memory map would kill the process.
 *
 * A snapshot's pages stay as they are until its meta record is overwritten: transaction n + 2 overwrites the record of
 * n, and only n + 3 may reuse pages that n could see. So whatever was read holds if the record still stands afterwards.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { Failure } from "../failure.ts";
import {
  checkOverflowHeader,
  damage,
  keyBytesMax,
  type LeafNode,
  type Meta,
  metaBytes,
  Page,
  pageHeaderBytes,
  readMeta,
  readPageBytes,
  type ValuePlace,
} from "./page.ts";

/** Commits may overtake a reader again and again while they come without a pause; for this long they do not. */
const overtakenMsMax = 10_000;
/** 1 MiB of pages on the way to keys, for each open file. */
const cachedPagesMax = 256;

export class DataFile {
  readonly file: string;
  readonly pageBytes: number;
  readonly #fd: number;
  /** The whole file, where it was asked for and could be read. */
  readonly #bytes: Buffer | undefined;
  /** From the first meta record to the end of the second, as last read and as read for `#newest`. */
  readonly #metas: Buffer;
  readonly #metasBefore: Buffer;
  #newest: Meta | undefined;
  /** Pages of that snapshot. */
  readonly #pages = new Map<number, Page>();

  /**
   * `inMemory`: the file is read at once and stays as it was then. Throws Failure "damage" where the file is missing or too short to be
   * read at all.
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
    this.#metas = Buffer.alloc(this.pageBytes + metaBytes);
    this.#metasBefore = Buffer.alloc(this.pageBytes + metaBytes);
    if (inMemory) this.#bytes = this.#readAll();
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Length of the file in bytes. */
  size(): number {
    return this.#bytes?.length ?? fstatSync(this.#fd).size;
  }

  /** Undefined where a part of it cannot be read: other parts may be. */
  #readAll(): Buffer | undefined {
    try {
      return this.read({ offset: 0, length: this.size() });
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }

  /** Runs `read` on the newest snapshot, again if commits overtook it. Throws Failure "damage". */
  consistently<T>(read: (meta: Meta) => T): T {
    const untilMs = performance.now() + overtakenMsMax;
    while (performance.now() < untilMs) {
      const meta = this.snapshot();
      try {
        const result = read(meta);
        if (this.#stands(meta)) return result;
      } catch (error) {
        if (this.#stands(meta)) throw this.#named(error);
      }
    }
    throw new Failure("overload", `${this.file}: it changes faster than it can be read`);
  }

  #named(error: unknown): unknown {
    if (!(error instanceof Failure)) return error;
    return new Failure(error.kind, `${this.file}, ${error.message}`, { cause: error });
  }

  /** The newest snapshot as LMDB would choose it. Throws Failure "damage" where either record is unsound. */
  snapshot(): Meta {
    for (;;) {
      this.#readMetas();
      if (this.#newest !== undefined && this.#metas.equals(this.#metasBefore)) return this.#newest;
      this.#metas.copy(this.#metasBefore);
      this.#newest = undefined;
      this.#pages.clear();
      try {
        this.#newest = newest(this.#metaOf(0), this.#metaOf(1));
        return this.#newest;
      } catch (error) {
        // A commit may have been writing the record while it was read.
        this.#readMetas();
        if (this.#metas.equals(this.#metasBefore)) throw error;
      }
    }
  }

  #readMetas(): void {
    const read = readSync(this.#fd, this.#metas, 0, this.#metas.length, 0);
    this.#metas.fill(0, read);
  }

  #metaOf(slot: number): Meta {
    return readMeta(this.#metas.subarray(slot * this.pageBytes).subarray(0, metaBytes), slot, this.pageBytes);
  }

  #stands(meta: Meta): boolean {
    this.#readMetas();
    const at = meta.slot * this.pageBytes;
    return this.#metas.compare(meta.bytes, 0, metaBytes, at, at + metaBytes) === 0;
  }

  /** The node of the main tree that holds `key`. Throws Failure "damage" where a page on the way is unsound. */
  find(meta: Meta, key: Uint8Array): LeafNode | undefined {
    if (meta.main.root === undefined || key.length > keyBytesMax(this.pageBytes)) return undefined;
    let number = meta.main.root;
    for (let level = 1; level < meta.main.depth; level++) {
      const page = this.#cachedPage(meta, number, false);
      if (page.nodes < 2) throw damage(`page ${number}`, "a branch with fewer than two children");
      number = page.branchNode(Math.max(page.search(key), 0)).page;
    }
    const leaf = this.#cachedPage(meta, number, true);
    const index = leaf.search(key);
    if (index < 0) return undefined;
    const node = leaf.leafNode(index);
    return node.key.equals(key) ? node : undefined;
  }

  #cachedPage(meta: Meta, number: number, leaf: boolean): Page {
    const known = this.#pages.get(number);
    if (known?.leaf === leaf && meta === this.#newest) return known;
    const page = this.readPage(meta, number, leaf);
    if (this.#pages.size >= cachedPagesMax) this.#pages.clear();
    this.#pages.set(number, page);
    return page;
  }

  readPage(meta: Meta, number: number, leaf: boolean): Page {
    if (number < 2 || number > meta.lastPage) throw damage(`page ${number}`, "there is no such page");
    const bytes = this.read({ offset: number * this.pageBytes, length: this.pageBytes });
    return new Page(bytes, number, leaf, meta.snapshot);
  }

  /** Throws Failure "damage" unless the pages of a value begin with the header that LMDB trusts when it frees them. */
  checkOverflow(meta: Meta, { page, pages }: { page: number; pages: number }): void {
    const header = this.read({ offset: page * this.pageBytes, length: pageHeaderBytes });
    checkOverflowHeader(header, page, pages, meta.snapshot);
  }

  /** Bytes of the file, in memory of their own unless all of it is in memory. Throws Failure "damage" where it ends before them. */
  read(place: ValuePlace): Buffer {
    const { offset, length } = place;
    // A damaged length may ask for more memory than there is.
    if (length > this.pageBytes && offset + length > this.size()) {
      throw damage(`byte ${offset}`, `the file ends within the ${length} bytes from there`);
    }
    if (this.#bytes !== undefined && offset + length <= this.#bytes.length) {
      return this.#bytes.subarray(offset, offset + length);
    }
    const bytes = Buffer.allocUnsafeSlow(length);
    let done = 0;
    while (done < bytes.length) {
      const read = this.#readSome(bytes, done, offset + done);
      if (read === 0) throw damage(`byte ${offset + done}`, "the file ends before it");
      done += read;
    }
    return bytes;
  }

  #readSome(bytes: Buffer, from: number, offset: number): number {
    try {
      return readSync(this.#fd, bytes, from, bytes.length - from, offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EIO") throw error;
      throw damage(`byte ${offset}`, "the disk cannot read it");
    }
  }
}

function openForReading(file: string): number {
  try {
    return openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw damage(file, "the file is missing");
  }
}

function newest(first: Meta, second: Meta): Meta {
  const fresh = first.snapshot === 0 && second.snapshot === 0;
  if (!fresh && Math.abs(first.snapshot - second.snapshot) !== 1) {
    throw damage(
      "pages 0 and 1",
      `snapshots ${first.snapshot} and ${second.snapshot} do not follow each other`,
    );
  }
  return first.snapshot >= second.snapshot ? first : second;
}
