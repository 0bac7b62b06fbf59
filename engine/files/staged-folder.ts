/** A folder that is created atomically: it is filled under another name, and renamed when it is complete. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Failure } from "../failure.ts";
import { makeFolder, syncFolder } from "./folder.ts";
import { lockFileNames, lockFolder } from "./folder-lock.ts";

/** Free space that the file system needs beside the files themselves. */
const spareBytes = 64 * 2 ** 20;

/**
 * Creates `dir`, which may be missing or empty, with what `fill` writes into the folder that it is given. Only the
 * owner has access to the result. Where `fill` throws, nothing is left behind; the remains of a killed process are
 * removed by the next attempt. Throws Failure "folder" where `dir` is not empty, a file, or a file system of its own.
 */
export async function fillStagedFolder<T>(dir: string, fill: (staging: string) => Promise<T>): Promise<T> {
  const target = resolve(dir);
  checkTarget(target);
  const staging = `${target}.partial`;
  await makeFolder(dirname(target));
  await mkdir(staging, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(staging);
  try {
    for (const name of await readdir(staging)) {
      if (!lockFileNames.includes(name)) await rm(join(staging, name), { recursive: true });
    }
    const filled = await fill(staging);
    await restrictToOwner(staging);
    checkTarget(target);
    await rename(staging, target);
    await syncFolder(dirname(target));
    for (const name of lockFileNames) await rm(join(target, name), { force: true });
    return filled;
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  } finally {
    await lock.release();
  }
}

/** Throws Failure "disk-full" unless `bytes` and the spare space are free on the disk of `dir`. */
export async function checkFreeSpace(dir: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (free >= bytes + spareBytes) return;
  const [needed, left] = [gigabytes(bytes + spareBytes), gigabytes(free)];
  const problem = `the disk of ${dirname(dir)} has ${left} GB free and ${needed} GB are needed`;
  throw new Failure("disk-full", problem);
}

/** Sorted relative paths of all regular files below a folder, without those of its lock. */
export async function listFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
  return paths.filter((path) => !lockFileNames.includes(path)).sort();
}

/** Gives access to everything below the folder to the owner alone, and makes every name below the folder durable. */
async function restrictToOwner(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) {
      await chmod(path, 0o700);
      await syncFolder(path);
    } else if (entry.isFile()) await chmod(path, 0o600);
  }
  await syncFolder(dir);
}

/**
 * Throws Failure "folder" unless the rename can replace `dir`: it must be missing, or an empty folder on the same file
 * system.
 */
function checkTarget(dir: string): void {
  if (!existsSync(dir)) return;
  if (!statSync(dir).isDirectory()) throw new Failure("folder", `${dir} is a file: name a new folder`);
  if (readdirSync(dir).length > 0) {
    throw new Failure("folder", `${dir} is not empty: name a new folder, nothing is written over`);
  }
  if (statSync(dir).dev !== statSync(dirname(dir)).dev) {
    throw new Failure("folder", `${dir} is a file system of its own: name a new folder in it`);
  }
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(2);
}
