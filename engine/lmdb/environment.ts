/**
 * LMDB environments. Only writes go through LMDB's native code, after an audit of the file's trees. Reads go through DataFile, so that flipped bits or a truncated file under a running process are
 * errors instead of the end of the process.
 *
 * One thread at a time may have an environment open for writing. Any number of threads and processes may have it open
 * for reading at the same time, and its folder may be removed while they read. Threads may be terminated at any moment.
 * A transaction is therefore handed to LMDB as one list: a thread that ends inside a synchronous transaction of lmdb-js
 * waits for its own lock for ever, and the process with it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Failure } from "../failure.ts";
import { type Changes, CommitReservation, commitPagesMax, type KeyChange } from "./commit-size.ts";
import { DataFile } from "./data-file.ts";
import { toDiskFullFailure } from "./disk-full.ts";
import { commit, type Database, mapBytes, openLmdb } from "./native-database.ts";
import { buildEmptyDataFile, keyBytesMax, type Meta, type ValueLocation } from "./page.ts";
import { auditPageTree, checkFreeTree, readEntries } from "./page-audit.ts";

export interface LmdbEnvironment {
  /** Returns the value as of the newest commit, in a new buffer. Throws Failure "damage". */
  get(key: Uint8Array): Uint8Array | undefined;
  /**
   * As `get`, without a new buffer: the value is valid until the next call of `view` on this thread. It is read in the
   * snapshot that was read last. If `isIntact` returns false for it, it is read again in the newest snapshot. Finding that
   * one takes four reads of meta pages.
   */
  view(key: Uint8Array, isIntact: (read: Uint8Array) => boolean): Uint8Array | undefined;
  /**
   * Parts of a value, their places counted from its beginning; valid until the next call of `view` or `viewParts` on this
   * thread. For `isIntact` see `view`. Throws Failure "damage", also where a part passes the value's end.
   */
  viewParts(
    key: Uint8Array,
    parts: readonly ValueLocation[],
    isIntact: (read: readonly Uint8Array[]) => boolean,
  ): Uint8Array[] | undefined;
  /** Returns all keys in the order of their bytes. Throws Failure "damage". */
  keys(): Uint8Array[];
  /**
   * Commits one transaction; it is on disk when the promise resolves. Where `change` throws, nothing is written. The
   * last change to a key counts. Transactions are committed in the order of the calls. The values are not copied: do
   * not change them before the promise resolves. Throws Failure "disk-full" (nothing has changed; later writes may
   * succeed) and "damage".
   */
  write(change: (transaction: Transaction) => void): Promise<void>;
  /**
   * Copies every value into a new environment in `dir`, without free pages. Throws Failure "disk-full" and "damage".
   */
  compactInto(dir: string): Promise<void>;
  /** Waits for pending writes, then closes every file of the environment. */
  close(): Promise<void>;
}

interface Transaction {
  put(key: Uint8Array, value: Uint8Array): void;
  remove(key: Uint8Array): void;
}

/** Page size of every new file. It does not depend on the machine's page size, so that data folders can be moved. */
const newPageBytes = 4096;
/** Values of one transaction of `fillEnvironment`: LMDB holds a transaction's pages in memory until the commit. */
const transactionBytesMax = 32 * 2 ** 20;

/**
 * Opens the environment in `dir`. Opening it for writing audits its trees (see `auditPageTree`), unless the caller has
 * just done that, and creates it where it is missing. Throws Failure "damage" where the file cannot be read or the audit
 * fails, and "disk-full".
 */
export function openEnvironment(
  dir: string,
  options: { readOnly: boolean; isAudited?: boolean },
): LmdbEnvironment {
  return options.readOnly ? new ReadEnvironment(dir) : new WriteEnvironment(dir, options.isAudited);
}

/** Creates a new environment with these values in `dir`, and replaces an existing one. Throws Failure "disk-full". */
export async function fillEnvironment(
  dir: string,
  values: Iterable<[Uint8Array, Uint8Array]> | AsyncIterable<[Uint8Array, Uint8Array]>,
): Promise<void> {
  rmSync(join(dir, "data.mdb"), { force: true });
  const environment = new WriteEnvironment(dir);
  try {
    let batch: [Uint8Array, Uint8Array][] = [];
    let bytes = 0;
    const flush = async () => {
      await environment.write((to) => {
        for (const [key, value] of batch) to.put(key, value);
      });
      batch = [];
      bytes = 0;
    };
    for await (const [key, value] of values) {
      batch.push([key, value]);
      bytes += value.length;
      if (bytes >= transactionBytesMax) await flush();
    }
    await flush();
  } finally {
    await environment.close();
  }
}

class ReadEnvironment implements LmdbEnvironment {
  protected readonly file: DataFile;
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
    this.file = new DataFile(join(dir, "data.mdb"));
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#read(key, (value) => this.file.read(value));
  }

  view(key: Uint8Array, isIntact: (read: Uint8Array) => boolean): Uint8Array | undefined {
    return this.#readIntact(key, (value) => this.file.view(value), isIntact);
  }

  viewParts(
    key: Uint8Array,
    parts: readonly ValueLocation[],
    isIntact: (read: readonly Uint8Array[]) => boolean,
  ): Uint8Array[] | undefined {
    return this.#readIntact(key, (value) => this.file.viewParts(value, parts), isIntact);
  }

  /** Reads a value in the snapshot that was read last where `isIntact` accepts what is read there, else in the newest one. */
  #readIntact<T>(
    key: Uint8Array,
    read: (value: ValueLocation) => T,
    isIntact: (read: T) => boolean,
  ): T | undefined {
    const last = this.#readLastSnapshot(key, read);
    return last !== undefined && isIntact(last) ? last : this.#read(key, read);
  }

  /**
   * Reads a value in the snapshot that was read last, without looking for a newer one. Undefined where that snapshot lacks the
   * value, or its pages were overwritten.
   */
  #readLastSnapshot<T>(key: Uint8Array, read: (value: ValueLocation) => T): T | undefined {
    const meta = this.file.lastMeta;
    if (meta === undefined) return undefined;
    try {
      const value = this.file.find(meta, key);
      return value && read(value);
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }

  #read<T>(key: Uint8Array, read: (value: ValueLocation) => T): T | undefined {
    return this.file.readConsistently((meta) => {
      const node = this.file.find(meta, key);
      return node && read(node);
    });
  }

  keys(): Uint8Array[] {
    return readEntries(this.file).map((entry) => entry.key);
  }

  async write(_change: (transaction: Transaction) => void): Promise<void> {
    throw new Error(`${this.dir} is open for reading alone`);
  }

  async compactInto(dir: string): Promise<void> {
    await fillEnvironment(dir, this.#values());
  }

  *#values(): Iterable<[Uint8Array, Uint8Array]> {
    for (const key of this.keys()) {
      const value = this.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  async close(): Promise<void> {
    this.file.close();
  }
}

class WriteEnvironment extends ReadEnvironment {
  /**
   * Absent after a failed commit, since LMDB does not say in what state that left it; the next write opens it again.
   */
  #database: Database | undefined;
  readonly #reservation: CommitReservation;
  /**
   * The newest meta page as the audit or the newest commit left it; undefined where it could not be read then. Counts in
   * it have no checksum, and the space that a commit reserves follows from them.
   */
  #metaBytes: Buffer | undefined;
  /** Length of the file after the newest commit. */
  #fileBytes: number;
  /** Resolves when the newest write has ended, with or without success. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(dir: string, isAudited = false) {
    createDataFile(dir);
    super(dir);
    try {
      if (!isAudited) auditFolder(dir);
      const meta = this.file.readNewestMeta();
      this.#reservation = new CommitReservation(this.file.file, meta, this.file.pageBytes);
      this.#metaBytes = meta.bytes;
    } catch (error) {
      this.file.close();
      throw error;
    }
    try {
      this.#database = openLmdb(dir);
    } catch (error) {
      this.#reservation.close();
      this.file.close();
      throw error;
    }
    this.#fileBytes = this.file.byteLength();
  }

  override async write(change: (transaction: Transaction) => void): Promise<void> {
    const changes: Changes = new Map();
    const set = (key: Uint8Array, value: Uint8Array | undefined) => {
      changes.set(Buffer.from(key).toString("latin1"), { key: Buffer.from(key), value });
    };
    change({ put: (key, value) => set(key, toUnsharedMemory(value)), remove: (key) => set(key, undefined) });
    if (changes.size === 0) return;
    const before = this.#lastWrite;
    const written = before.then(() => this.#write(changes));
    this.#lastWrite = written.catch(() => undefined);
    await written;
  }

  async #write(changes: Changes): Promise<void> {
    const pages = this.#checkChanges(changes);
    try {
      await this.#reservation.reserve(pages);
    } catch (error) {
      throw toDiskFullFailure(error, this.dir, changes);
    }
    this.#database ??= openLmdb(this.dir);
    try {
      await commit(this.#database, changes);
      this.file.checkLinked();
    } catch (error) {
      await this.#closeLmdb();
      this.#metaBytes = this.#readMetaIfSound()?.bytes;
      throw toDiskFullFailure(error, this.dir, changes);
    }
    try {
      const meta = this.#readMetaIfSound();
      this.#metaBytes = meta?.bytes;
      this.#reservation.releaseUnused(meta);
      this.#fileBytes = this.file.byteLength();
    } catch {
      // The change is stored, so a later error does not fail it. The next write opens the file again.
      this.#metaBytes = undefined;
      await this.#closeLmdb().catch(() => undefined);
    }
  }

  #readMetaIfSound(): Meta | undefined {
    try {
      return this.file.readNewestMeta();
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }

  /**
   * Checks what may have changed since the audit at open, and what it did not read: the file's length, the meta page, the
   * free tree, the pages on the paths to the keys, those beside the paths of removed keys, and the headers of the overflow
   * pages that the commit frees, which LMDB trusts. Returns an upper bound of the pages that the commit appends.
   */
  #checkChanges(changes: Changes): number {
    this.file.checkLinked();
    // LMDB has mapped the file. Touching a page beyond its end would end the process.
    if (this.file.byteLength() < this.#fileBytes)
      throw new Failure("damage", `${this.file.file} was cut short`);
    const meta = this.file.readNewestMeta();
    if (this.#metaBytes !== undefined && !meta.bytes.equals(this.#metaBytes))
      throw new Failure("damage", `${this.file.file}: its meta page is not the one that was written`);
    checkFreeTree(this.file, meta);
    // In the order of keys, so that each page is read once.
    const sorted = [...changes.values()].sort((a, b) => Buffer.compare(a.key, b.key));
    const keyChanges: KeyChange[] = [];
    const checkedPages = new Set<number>();
    for (const { key, value } of sorted) {
      if (key.length === 0 || key.length > keyBytesMax(this.file.pageBytes)) {
        throw new RangeError(`a key of ${key.length} bytes`);
      }
      this.file.checkTouched(meta, key, value === undefined, checkedPages);
      const overflow = this.file.find(meta, key)?.overflow;
      if (overflow !== undefined) this.file.checkOverflow(meta, overflow);
      keyChanges.push({ value, currentOverflowPages: overflow?.pages ?? 0 });
    }
    return commitPagesMax(meta, keyChanges, this.file.pageBytes);
  }

  override async close(): Promise<void> {
    await this.#lastWrite;
    await this.#closeLmdb();
    this.#reservation.close();
    await super.close();
  }

  async #closeLmdb(): Promise<void> {
    const database = this.#database;
    this.#database = undefined;
    await database?.close();
  }
}

function auditFolder(dir: string): void {
  const { ok, problems } = auditPageTree(join(dir, "data.mdb"));
  if (!ok) throw new Failure("damage", `${dir}: ${problems.join("; ")}`);
}

/**
 * Creates an empty environment where there is none, and makes the file and its folders durable. LMDB is not left to
 * create it: it aborts the process where the disk is full.
 */
function createDataFile(dir: string): void {
  const file = join(dir, "data.mdb");
  if (existsSync(file) && statSync(file).size > 0) return;
  try {
    const firstCreated = mkdirSync(dir, { recursive: true });
    writeFileSync(file, buildEmptyDataFile(newPageBytes, mapBytes), { flush: true });
    const top = firstCreated === undefined ? resolve(dir) : dirname(firstCreated);
    for (let at = resolve(dir); ; at = dirname(at)) {
      syncFolderSync(at);
      if (at === top) break;
    }
  } catch (error) {
    rmSync(file, { force: true });
    throw toDiskFullFailure(error, dir, new Map());
  }
}

function syncFolderSync(dir: string): void {
  const fd = openSync(dir, "r");
  fsyncSync(fd);
  closeSync(fd);
}

/** Copies values out of shared memory: lmdb-js needs the address of the buffer, and shared memory does not give it. */
function toUnsharedMemory(value: Uint8Array): Uint8Array {
  return value.buffer instanceof SharedArrayBuffer ? Buffer.from(value) : value;
}
