/** The databases of lmdb-js: how they are opened and committed to. This is the one file that uses the package. */
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { RootDatabase, RootDatabaseOptions } from "lmdb";
import type { Changes } from "./commit-size.ts";
import { toDiskFullFailure } from "./disk-full.ts";

export type Database = RootDatabase<Uint8Array, Uint8Array>;

/**
 * Loads LMDB's native code at the first opening for writing, not when this module is imported. Most threads only read, and
 * a thread that is terminated while native code loads takes the whole process with it.
 */
function loadLmdb(): typeof import("lmdb") {
  return requireHere("lmdb") as typeof import("lmdb");
}

const requireHere = createRequire(import.meta.url);

/** Address space that LMDB reserves at first; it maps more when a file outgrows it. */
export const mapBytes = 2 ** 36;
/** Length of the lock file: LMDB's mutexes and 126 readers take 8,272 bytes. */
const lockBytes = 16_384;
/** lmdb-js reports the cause of a failed commit in a second promise, which for some causes never settles. */
const causeWaitMsMax = 1_000;

const nativeOptions: RootDatabaseOptions & { batchStartThreshold: number } = {
  // Otherwise lmdb-js takes a folder with a dot in its name for a file.
  noSubdir: false,
  keyEncoding: "binary",
  encoding: "binary",
  mapSize: mapBytes,
  maxDbs: 1,
  // The promise of a commit resolves when the commit is on disk, so no start finds one that is synced in part.
  overlappingSync: false,
  // A transaction begins only when its list of operations is complete.
  eventTurnBatching: false,
  batchStartThreshold: Number.MAX_SAFE_INTEGER,
};

/** Opens the environment in `dir` for writing. Throws Failure "disk-full". */
export function openLmdb(dir: string): Database {
  createLockFile(dir);
  try {
    return loadLmdb().open<Uint8Array, Uint8Array>(dir, nativeOptions);
  } finally {
    // LMDB keeps it mapped. Without a name nothing else can change its bits, which would mislead the next commit.
    rmSync(join(dir, "lock.mdb"), { force: true });
  }
}

/** Commits the changes. Throws the error that LMDB reported, with LMDB's error number as `code`. */
export async function commit(database: Database, changes: Changes): Promise<void> {
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
      await Promise.race([commitError, setTimeout(causeWaitMsMax, undefined, { ref: false })]);
    throw error;
  }
}

/**
 * Creates the file in which LMDB keeps its locks. A new one each time is enough, since no one else opens the
 * environment through LMDB. It is written in full: LMDB maps it, and a hole in it on a full disk would end the process.
 */
function createLockFile(dir: string): void {
  const file = join(dir, "lock.mdb");
  try {
    rmSync(file, { force: true });
    writeFileSync(file, Buffer.alloc(lockBytes));
  } catch (error) {
    rmSync(file, { force: true });
    throw toDiskFullFailure(error, dir, new Map());
  }
}
