/** Restores a backup to a new data folder, which appears only after every byte was checked. */

import { createHash } from "node:crypto";
import { type FileHandle, lstat, mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure } from "../failure.ts";
import { readCheckedFile, writeCheckedFile } from "../files/checked-file.ts";
import { syncFolder } from "../files/folder.ts";
import { isNumber, isObjectOf } from "../files/json-shape.ts";
import { openRegularFile } from "../files/regular-file.ts";
import { checkFreeSpace, fillStagedFolder } from "../files/staged-folder.ts";
import { verifyStore } from "../inspect/verify.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { type BackupMarker, type CopyProgress, readBackupMarker } from "./backup-folder.ts";
import { RestoreDamage } from "./restore-damage.ts";

/** What was restored. */
export interface Restored {
  /** When the backup was taken, milliseconds since the epoch. */
  takenAtMs: number;
  rows: number;
  bytes: number;
  /** What was damaged or lost before the backup was taken. */
  losses: string[];
}

/** Content of the file that marks a data folder as restored; both times in milliseconds since the epoch. */
export interface RestoredFrom {
  takenAtMs: number;
  restoredAtMs: number;
}

const isRestoredFrom = isObjectOf<RestoredFrom>({ takenAtMs: isNumber, restoredAtMs: isNumber });

const restoredFile = "restored";
const blockBytes = 1024 * 1024;

/**
 * Restores the backup in `dir` to the new data folder `target`: copies its files, compares their hashes and verifies
 * the store. Links in the backup are not followed, and nothing but regular files is read. Throws Failure "folder" where `dir` is no complete backup or `target` is not empty, "disk-full" where the
 * disk has too little space, and "damage" where a byte is not what was written (RestoreDamage, which lists all of it);
 * nothing is left over in any of these cases.
 */
export async function restoreBackup(
  dir: string,
  target: string,
  options: { nowMs: number; onProgress: (progress: CopyProgress) => void },
): Promise<Restored> {
  const marker = await readBackupMarker(dir);
  return fillStagedFolder(target, async (staging) => {
    await checkFreeSpace(staging, marker.bytes);
    await copyFiles(dir, staging, marker, options.onProgress);
    const { rows, damage } = await verifyStore(staging, (progress) =>
      options.onProgress({ phase: "checked", ...progress }),
    );
    const unknown = damage.filter(({ where, problem }) => !marker.losses.includes(`${where}: ${problem}`));
    if (unknown.length > 0) throw new RestoreDamage(unknown);
    const { takenAtMs, bytes, losses } = marker;
    const mark: RestoredFrom = { takenAtMs, restoredAtMs: options.nowMs };
    await writeCheckedFile(join(staging, restoredFile), mark);
    return { takenAtMs, rows, bytes, losses };
  });
}

/**
 * Reads from which backup the data folder `dir` was restored. Undefined where it was not restored; both times are 0
 * where the mark is damaged.
 */
export async function readRestoredMark(dir: string): Promise<RestoredFrom | undefined> {
  const found = await readCheckedFile(join(dir, restoredFile), isRestoredFrom);
  // A damaged mark still shows that the folder was restored.
  return found === "damaged" ? { takenAtMs: 0, restoredAtMs: 0 } : found;
}

/** Removes the mark: from now on the data folder `dir` counts as an original. */
export async function removeRestoredMark(dir: string): Promise<void> {
  await rm(join(dir, restoredFile), { force: true });
  await syncFolder(dir);
}

/** Copies all files; throws RestoreDamage with all damaged ones at the end. */
async function copyFiles(
  from: string,
  to: string,
  { files }: BackupMarker,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
  checkPaths(files.map(({ path }) => path));
  const damage: DamageReport[] = [];
  let bytes = 0;
  for (const file of files) {
    await checkParents(from, file.path);
    await mkdir(join(to, dirname(file.path)), { recursive: true });
    const problem = await copyFile(join(from, file.path), join(to, file.path), file, (done) =>
      onProgress({ phase: "copied", bytes: bytes + done, bytesTotal }),
    );
    if (problem !== undefined) damage.push({ where: file.path, problem });
    bytes += file.bytes;
  }
  if (damage.length > 0) throw new RestoreDamage(damage);
}

/** A path that a backup can hold: up to four names, such as `logs/2026-11-20/data.mdb`. */
const pathPattern = /^[\w-][\w.-]{0,99}(?:\/[\w-][\w.-]{0,99}){0,3}$/;

/** Throws Failure "damage" where a path could lead out of the folder, or is there twice. */
function checkPaths(paths: readonly string[]): void {
  const known = new Set<string>();
  for (const path of paths) {
    const shown = JSON.stringify(path.slice(0, 200));
    if (!pathPattern.test(path)) throw new Failure("damage", `the backup names the file ${shown}`);
    if (known.has(path)) throw new Failure("damage", `the backup names the file ${shown} twice`);
    known.add(path);
  }
}

/** Throws Failure "damage" where a folder on the way to the file is a link. */
async function checkParents(from: string, path: string): Promise<void> {
  for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
    const stats = await lstat(join(from, parent)).catch(() => undefined);
    if (stats?.isSymbolicLink()) {
      throw new Failure("damage", `${join(from, parent)} is a link, and none is followed`);
    }
  }
}

/** Copies one file; holes stay holes. Returns what is wrong with the file, undefined where it is intact. */
async function copyFile(
  from: string,
  to: string,
  { bytes, sha256 }: { bytes: number; sha256: string },
  onProgress: (bytes: number) => void,
): Promise<string | undefined> {
  const opened = await openSource(from);
  if (typeof opened === "string") return opened;
  const { file: source } = opened;
  const target = await open(to, "wx", 0o600);
  try {
    if (opened.bytes !== bytes) return `it has ${opened.bytes} bytes, it was written with ${bytes}`;
    const hash = createHash("sha256");
    const zeros = Buffer.alloc(blockBytes);
    const block = Buffer.alloc(blockBytes);
    let at = 0;
    while (at < bytes) {
      const { bytesRead } = await source.read(block, 0, Math.min(blockBytes, bytes - at), at);
      if (bytesRead === 0) break;
      const content = block.subarray(0, bytesRead);
      hash.update(content);
      if (!content.equals(zeros.subarray(0, bytesRead))) await writeWhole(target, content, at);
      at += bytesRead;
      onProgress(at);
    }
    await target.truncate(at);
    await target.sync();
    if (at !== bytes) return `it has ${at} bytes, it was written with ${bytes}`;
    return hash.digest("hex") === sha256 ? undefined : "the checksum does not match the bytes";
  } finally {
    await source.close();
    await target.close();
  }
}

/** A write may take a part of the bytes, as on a disk that is almost full. */
async function writeWhole(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.byteLength - done, at + done);
    if (bytesWritten === 0) throw new Failure("disk-full", "the disk takes no more bytes");
    done += bytesWritten;
  }
}

/** Opens a file of the backup, or returns what is wrong with it. */
async function openSource(path: string): Promise<{ file: FileHandle; bytes: number } | string> {
  try {
    return (await openRegularFile(path)) ?? "the file is missing";
  } catch (error) {
    if (error instanceof Failure) return error.message;
    return `cannot be read: ${(error as NodeJS.ErrnoException).code}`;
  }
}
