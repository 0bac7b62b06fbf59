/** A folder that appears whole or not at all: it is made beside its place, and gets its name when it is complete. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Failure } from "../failure.ts";
import { makeFolder, syncFolder } from "./folder.ts";
import { lockFolder } from "./lock.ts";

/** What file systems need beside the files themselves. */
const spareBytes = 64 * 2 ** 20;

/**
 * Fills a new folder in place of one that is empty or not there, for its owner alone. Where `fill` throws, nothing is left; what a
 * process left that was killed is removed by the next attempt. Throws Failure "folder".
 */
export async function fillStagedFolder<T>(dir: string, fill: (draft: string) => Promise<T>): Promise<T> {
  const target = resolve(dir);
  checkFree(target);
  const draft = `${target}.partial`;
  await makeFolder(dirname(target));
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const unlock = await lockFolder(draft);
  try {
    for (const name of await readdir(draft)) {
      if (!isLock(name)) await rm(join(draft, name), { recursive: true });
    }
    const filled = await fill(draft);
    await closeToOthers(draft);
    checkFree(target);
    await rename(draft, target);
    await syncFolder(dirname(target));
    for (const name of await readdir(target)) if (isLock(name)) await rm(join(target, name));
    return filled;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    // The lock went with its folder.
    if (existsSync(draft)) await unlock();
  }
}

/** Throws Failure "disk-full" unless so many bytes fit beside a folder. */
export async function checkFreeSpace(dir: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (free >= bytes + spareBytes) return;
  const [needed, left] = [gigabytes(bytes + spareBytes), gigabytes(free)];
  throw new Failure(
    "disk-full",
    `the disk of ${dirname(dir)} has ${left} GB free and ${needed} GB are needed`,
  );
}

/** Names of all files below a folder but its lock. */
export async function filesBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1)).sort();
}

async function closeToOthers(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) {
      await chmod(path, 0o700);
      await syncFolder(path);
    } else if (entry.isFile()) await chmod(path, 0o600);
  }
  await syncFolder(dir);
}

function checkFree(dir: string): void {
  if (!existsSync(dir)) return;
  if (!statSync(dir).isDirectory()) throw new Failure("folder", `${dir} is a file: name a new folder`);
  if (readdirSync(dir).length > 0) {
    throw new Failure("folder", `${dir} is not empty: name a new folder, nothing is written over`);
  }
  if (statSync(dir).dev !== statSync(dirname(dir)).dev) {
    throw new Failure("folder", `${dir} is a file system of its own: name a new folder in it`);
  }
}

function isLock(name: string): boolean {
  return /^(?:lock|released)\.\d+$/.test(name);
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(2);
}
