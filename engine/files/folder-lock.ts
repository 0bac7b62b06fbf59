/**
 * The lock of a data folder: one process at a time has it open.
 *
 * The kernel keeps the lock, so it holds between the containers and namespaces of a machine, and ends with its process
 * however that ends. Node has no call for file locks. SQLite, which is part of Node, has: an exclusive transaction on
 * the empty database `lock` locks that file with fcntl. Nothing is ever written to the database. Such a lock also ends
 * when its process closes any descriptor of the file. So nothing else opens `lock`.
 *
 * The file `holder` names the process that opened the folder last; each opening replaces the file. It fences off writers
 * where the kernel's lock does not reach, such as a network file system between two hosts: whoever finds that `holder`
 * is not its own acknowledges nothing any more.
 */
import { randomBytes } from "node:crypto";
import { accessSync, type BigIntStats, constants, existsSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Failure, isDiskFull, unlessFull } from "../failure.ts";
import { replaceFile } from "./folder.ts";

/** Names of the files of a lock; they belong to a running process, not to the data. */
export const lockFileNames: readonly string[] = ["lock", "holder", "holder.new"];

/** What the file `holder` says. */
interface Holder {
  pid: number;
  host: string;
  /** When the folder was opened: ISO 8601. */
  openedAt: string;
  /** Random: 16 hexadecimal digits. */
  writer: string;
}

/** An opener waits this long for a lock: `isOpenElsewhere` holds it for a moment. Chosen, not measured. */
const waitMs = 200;

/** SQLite's primary result codes. */
const busyCode = 5;
const damagedCodes = [11, 26];

/** Locks the folder. Throws Failure "folder" where a process has it open, or its file system has no file locks. */
export async function lockFolder(dir: string): Promise<FolderLock> {
  const database = tryLock(join(dir, "lock"));
  if (database === undefined) throw new Failure("folder", await describeRefusal(dir));
  try {
    const holder: Holder = {
      pid: process.pid,
      host: hostname(),
      openedAt: new Date().toISOString(),
      writer: randomBytes(8).toString("hex"),
    };
    // A full disk must not keep a store from being opened for searches. The kernel's lock holds without the file.
    await unlessFull(replaceFile(join(dir, "holder"), `${JSON.stringify(holder)}\n`));
    return new FolderLock(dir, database, holder.writer);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns whether a process has the data folder `dir` open; this process counts too. */
export async function isOpenElsewhere(dir: string): Promise<boolean> {
  const path = join(dir, "lock");
  if (findIdentity(path) === undefined) return false;
  const database = tryLock(path);
  database?.close();
  return database === undefined;
}

/** The lock of a folder that this process has open. */
export class FolderLock {
  /** Identifies this opening of the folder: 16 random hexadecimal digits. */
  readonly writer: string;
  readonly #dir: string;
  readonly #database: DatabaseSync;
  /** What `lock` and `holder` are on disk; undefined where there was no room for the file. */
  readonly #identities: ReadonlyMap<string, string | undefined>;

  constructor(dir: string, database: DatabaseSync, writer: string) {
    this.#dir = dir;
    this.#database = database;
    this.writer = writer;
    this.#identities = new Map(["lock", "holder"].map((name) => [name, findIdentity(join(dir, name))]));
  }

  /**
   * Throws Failure "folder" where the folder was removed, replaced, made unreadable or opened by another process since it
   * was locked.
   * What was written since then may be lost, and must not be acknowledged. It costs two calls of stat.
   */
  check(): void {
    const { problem } = this;
    if (problem !== undefined) throw new Failure("folder", problem);
  }

  /** Why the folder is no longer this process's, in a sentence; undefined while it is. */
  get problem(): string | undefined {
    try {
      if (this.#hasChanged("lock"))
        return `${this.#dir} was removed or replaced while it was open; nothing more is written`;
      const holder = join(this.#dir, "holder");
      if (this.#hasChanged("holder")) {
        const what = existsSync(holder)
          ? `${this.#dir} was opened by ${describeHolder(this.#dir)}`
          : `${holder} was removed, by hand or by another process that opened the folder,`;
        return `${what} while this one had it open; nothing more is written`;
      }
      return undefined;
    } catch (error) {
      // The folder's mode, or its file system, keeps even the names of its files from this process.
      const { code = String(error) } = error as NodeJS.ErrnoException;
      return `${this.#dir} cannot be read any more (${code}); nothing more is written`;
    }
  }

  /** Ends the lock. The folder may have been removed. */
  async release(): Promise<void> {
    try {
      if (this.problem === undefined) await rm(join(this.#dir, "holder"), { force: true });
    } finally {
      this.#database.close();
    }
  }

  #hasChanged(name: string): boolean {
    return findIdentity(join(this.#dir, name)) !== this.#identities.get(name);
  }
}

/** Identifies a file by device, inode and time of its last change; undefined where there is none. */
function findIdentity(path: string): string | undefined {
  const found: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}

/** Locks a file and creates it where it is missing. Undefined where another opener has it locked. */
function tryLock(path: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new (loadSqlite().DatabaseSync)(path);
    database.exec(`PRAGMA busy_timeout = ${waitMs}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`);
    return database;
  } catch (error) {
    database?.close();
    const code = (error as { errcode?: number }).errcode;
    if (code === undefined) throw error;
    const primary = code & 0xff;
    if (primary === busyCode) return undefined;
    if (damagedCodes.includes(primary)) {
      throw new Failure("folder", `${path} is damaged: remove it while no process uses the folder`);
    }
    // SQLite does not say why. The operating system does where the folder cannot be written.
    accessSync(dirname(path), constants.W_OK);
    throw new Failure("folder", `${path} cannot be locked: ${(error as Error).message}`);
  }
}

/**
 * Why a folder cannot be locked. SQLite says "busy" for a lock that is held and for a file system without locks. A file
 * that nobody else knows tells the two apart.
 */
async function describeRefusal(dir: string): Promise<string> {
  const probe = join(dir, `holder.${randomBytes(8).toString("hex")}`);
  try {
    const database = tryLock(probe);
    database?.close();
    if (database === undefined) {
      return `the file system of ${dir} has no file locks, so two processes could write there: use a folder on another one`;
    }
  } catch (error) {
    if (!(error instanceof Failure) && !isDiskFull(error)) throw error;
  } finally {
    await rm(probe, { force: true });
  }
  return `${dir} is in use by ${describeHolder(dir)}: stop it first, or use another folder`;
}

function describeHolder(dir: string): string {
  try {
    const { pid, host } = JSON.parse(readFileSync(join(dir, "holder"), "utf8")) as Holder;
    return `process ${Number(pid)} on ${String(host)}`;
  } catch {
    return "another process";
  }
}

/** Node marks its SQLite as experimental with a warning on stderr, which says nothing to the people who run a store. */
function loadSqlite(): typeof import("node:sqlite") {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}
