/**
 * The one edge to LMDB. Only writing goes through its native code, after the file's trees were audited; reading is done
 * by TreeFile, so that bits flipped or bytes cut off under a running process are errors, not the process's end.
 *
 * One thread at a time has an environment open for writing; any number of threads and processes have it open for reading,
 * before, during and after that. Folders may be removed while others read them. Threads may be terminated at any moment:
 * a transaction is handed to LMDB as one list, since a thread that ends inside lmdb-js's synchronous transactions waits
 * for its own lock for ever, and the process with it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { RootDatabase, RootDatabaseOptions } from "lmdb";
import { diskFullMessage, Failure } from "../failure.ts";
import { CommitSize, commitPagesMax, type KeyChange } from "./commit-size.ts";
import { DataFile } from "./data-file.ts";
import { emptyDataFile, keyBytesMax, type Meta } from "./page.ts";
import { auditPageTree, readEntries } from "./page-audit.ts";

export interface Environment {
  /** The value as it stood at the newest commit, in memory of its own. Throws Failure "damage". */
  get(key: Uint8Array): Uint8Array | undefined;
  /** All keys in the order of their bytes. Throws Failure "damage". */
  keys(): Uint8Array[];
  /**
   * One transaction, on disk when the promise resolves; nothing is written where `change` throws. The last change to a
   * key counts. Transactions follow one another in the order of the calls. The values are not copied: leave them alone
   * until then. Throws Failure "disk-full" (all is as it was before; later writes may succeed) and "damage".
   */
  write(change: (transaction: Transaction) => void): Promise<void>;
  /** Copies every value into a new environment without free pages. Throws Failure "disk-full", "damage". */
  compactInto(dir: string): Promise<void>;
  /** Finishes the writes under way; nothing of the environment is open any more when it resolves. */
  close(): Promise<void>;
}

interface Transaction {
  put(key: Uint8Array, value: Uint8Array): void;
  remove(key: Uint8Array): void;
}

/**
 * Loads the native code where something is written, not with this module: a thread that is ended while it loads takes the whole
 * process with it, and most threads only read.
 */
function native(): typeof import("lmdb") {
  return requireHere("lmdb") as typeof import("lmdb");
}

const requireHere = createRequire(import.meta.url);

/** Of every new file, whatever the machine's own page size, so that data folders can be moved. */
const newPageBytes = 4096;
/** Address space reserved at first; LMDB maps more when a file outgrows it. */
const mapBytes = 2 ** 36;
/** Room for LMDB's mutexes and 126 readers (8,272 bytes) in whole pages. */
const lockBytes = 16_384;
/** lmdb-js names the cause of a failed commit in a second promise, and for some causes never. */
const causeMsMax = 1_000;
/** LMDB holds a transaction's pages in memory until the commit. */
const copyBytesMax = 32 * 2 ** 20;

const nativeOptions: RootDatabaseOptions & { batchStartThreshold: number } = {
  // Else a folder with a dot in its name is taken for a file.
  noSubdir: false,
  keyEncoding: "binary",
  encoding: "binary",
  mapSize: mapBytes,
  maxDbs: 1,
  // A commit is on disk when it is reported, and no half-synced snapshot is rolled back at the next start.
  overlappingSync: false,
  // A transaction begins when its list is complete.
  eventTurnBatching: false,
  batchStartThreshold: Number.MAX_SAFE_INTEGER,
};

/**
 * Opens the environment in `dir`; for writing it is created where it is missing.
 * Throws Failure "damage" where its trees are unsound (see auditPageTree), and "disk-full".
 */
export function openEnvironment(dir: string, options: { readOnly: boolean }): Environment {
  return options.readOnly ? new ReadEnvironment(dir) : new WriteEnvironment(dir);
}

/** Makes a new environment of the values, in place of any that stood in `dir`. Throws Failure "disk-full". */
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
      if (bytes >= copyBytesMax) await flush();
    }
    await flush();
  } finally {
    await environment.close();
  }
}

class ReadEnvironment implements Environment {
  protected readonly file: DataFile;
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
    this.file = new DataFile(join(dir, "data.mdb"));
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.file.consistently((meta) => {
      const node = this.file.find(meta, key);
      return node && this.file.read(node);
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

type Changes = Map<string, { key: Uint8Array; value: Uint8Array | undefined }>;
type Database = RootDatabase<Uint8Array, Uint8Array>;

class WriteEnvironment extends ReadEnvironment {
  /** Absent after a failed commit, of which LMDB does not say what state it left. */
  #database: Database | undefined;
  readonly #room: CommitSize;
  #fileBytes: number;
  /** The write that was asked for last; it resolves whatever became of it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(dir: string) {
    createDataFile(dir);
    super(dir);
    try {
      auditBefore(dir);
      this.#room = new CommitSize(this.file.file, this.file.snapshot(), this.file.pageBytes);
    } catch (error) {
      this.file.close();
      throw error;
    }
    try {
      this.#database = openNative(dir);
    } catch (error) {
      this.#room.close();
      this.file.close();
      throw error;
    }
    this.#fileBytes = this.file.size();
  }

  override async write(change: (transaction: Transaction) => void): Promise<void> {
    const changes: Changes = new Map();
    const set = (key: Uint8Array, value: Uint8Array | undefined) => {
      changes.set(Buffer.from(key).toString("latin1"), { key: Buffer.from(key), value });
    };
    change({ put: (key, value) => set(key, unshared(value)), remove: (key) => set(key, undefined) });
    if (changes.size === 0) return;
    const before = this.#last;
    const written = before.then(() => this.#write(changes));
    this.#last = written.catch(() => undefined);
    await written;
  }

  async #write(changes: Changes): Promise<void> {
    const pages = this.#check(changes);
    try {
      this.#room.take(pages);
    } catch (error) {
      throw refusal(error, this.dir, changes);
    }
    this.#database ??= openNative(this.dir);
    try {
      await commit(this.#database, changes);
      this.#room.committed(this.#metaOrNone());
      this.#fileBytes = this.file.size();
    } catch (error) {
      await this.#closeNative();
      throw refusal(error, this.dir, changes);
    }
  }

  #metaOrNone(): Meta | undefined {
    try {
      return this.file.snapshot();
    } catch (error) {
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }

  /**
   * LMDB trusts the header of the pages that it frees; the audit did not read those of the values. Returns how many pages the commit
   * appends at most.
   */
  #check(changes: Changes): number {
    // Where a mapped file was cut short, touching what is gone ends the process.
    if (this.file.size() < this.#fileBytes) throw new Failure("damage", `${this.file.file} was cut short`);
    const meta = this.file.snapshot();
    // In their order, so that each page is read once.
    const inOrder = [...changes.values()].sort((a, b) => Buffer.compare(a.key, b.key));
    const keyChanges: KeyChange[] = [];
    for (const { key, value } of inOrder) {
      if (key.length === 0 || key.length > keyBytesMax(this.file.pageBytes)) {
        throw new RangeError(`a key of ${key.length} bytes`);
      }
      const overflow = this.file.find(meta, key)?.overflow;
      if (overflow !== undefined) this.file.checkOverflow(meta, overflow);
      keyChanges.push({ value, pagesNow: overflow?.pages ?? 0 });
    }
    return commitPagesMax(meta, keyChanges, this.file.pageBytes);
  }

  override async close(): Promise<void> {
    await this.#last;
    await this.#closeNative();
    this.#room.close();
    await super.close();
  }

  async #closeNative(): Promise<void> {
    const database = this.#database;
    this.#database = undefined;
    await database?.close();
  }
}

/** Throws what LMDB reported, with its number as `code`. */
async function commit(database: Database, changes: Changes): Promise<void> {
  try {
    await database.batch(() => {
      for (const { key, value } of changes.values()) {
        if (value === undefined) void database.remove(key);
        else void database.put(key, value);
      }
    });
  } catch (error) {
    const { commitError } = error as { commitError?: Promise<never> };
    if (commitError !== undefined)
      await Promise.race([commitError, setTimeout(causeMsMax, undefined, { ref: false })]);
    throw error;
  }
}

function auditBefore(dir: string): void {
  const { ok, problems } = auditPageTree(join(dir, "data.mdb"));
  if (!ok) throw new Failure("damage", `${dir}: ${problems.join("; ")}`);
}

function openNative(dir: string): Database {
  createLockFile(dir);
  try {
    return native().open<Uint8Array, Uint8Array>(dir, nativeOptions);
  } finally {
    // It stays mapped. Were it left to be found, bits flipped in it would lead the next commit astray.
    rmSync(join(dir, "lock.mdb"), { force: true });
  }
}

/** An empty environment, on disk in full before its name appears: LMDB's own attempt aborts where the disk is full. */
function createDataFile(dir: string): void {
  const file = join(dir, "data.mdb");
  if (existsSync(file) && statSync(file).size > 0) return;
  try {
    const made = mkdirSync(dir, { recursive: true });
    writeFileSync(file, emptyDataFile(newPageBytes, mapBytes), { flush: true });
    const top = made === undefined ? resolve(dir) : dirname(made);
    for (let at = resolve(dir); ; at = dirname(at)) {
      syncFolder(at);
      if (at === top) break;
    }
  } catch (error) {
    rmSync(file, { force: true });
    throw refusal(error, dir, new Map());
  }
}

/**
 * The memory of LMDB's locks, which are needed within this environment alone, since no one else opens it through LMDB.
 * Written in full: LMDB maps it, and a hole in it on a full disk would end the process.
 */
function createLockFile(dir: string): void {
  const file = join(dir, "lock.mdb");
  try {
    rmSync(file, { force: true });
    writeFileSync(file, Buffer.alloc(lockBytes));
  } catch (error) {
    rmSync(file, { force: true });
    throw refusal(error, dir, new Map());
  }
}

function syncFolder(dir: string): void {
  const fd = openSync(dir, "r");
  fsyncSync(fd);
  closeSync(fd);
}

/** lmdb-js takes the address of the buffer, which shared memory does not give it. */
function unshared(value: Uint8Array): Uint8Array {
  return value.buffer instanceof SharedArrayBuffer ? Buffer.from(value) : value;
}

const fullCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG", 28, 122, 27]);
/** What LMDB reports where the system wrote fewer bytes than asked. */
const ioErrorCode = 5;

function refusal(error: unknown, dir: string, changes: Changes): unknown {
  const code = (error as { code?: string | number }).code;
  let bytes = 0;
  for (const { value } of changes.values()) bytes += value?.length ?? 0;
  const full = code !== undefined && fullCodes.has(code);
  if (!full && !(code === ioErrorCode && freeBytes(dir) < bytes + 2 ** 20)) return error;
  return new Failure("disk-full", diskFullMessage, { cause: error });
}

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
