/** Restores a backup to a new data folder, which appears only after every byte was checked. */
import { createHash } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { Failure } from "../failure.ts";
import { readCheckedFile, writeCheckedFile } from "../files/checked-file.ts";
import { syncFolder } from "../files/folder.ts";
import { checkFreeSpace, fillStagedFolder } from "../files/staged-folder.ts";
import { verifyStore } from "../inspect/verify.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { type BackupMarker, type CopyProgress, readBackupMarker } from "./backup-folder.ts";

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
interface RestoredFrom {
  takenAtMs: number;
  restoredAtMs: number;
}

const restoredFile = "restored";
const blockBytes = 1024 * 1024;

/**
 * Restores the backup in `dir` to the new data folder `target`: copies its files, compares their hashes and verifies
 * the store. Throws Failure "folder" where `dir` is no complete backup or `target` is not empty, "disk-full" where the
 * disk has too little space, and "damage" where a byte is not what was written (RestoreDamage, which lists all of it);
 * nothing is left behind in any of these cases.
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
  const found = await readCheckedFile<RestoredFrom>(join(dir, restoredFile));
  // A damaged mark still shows that the folder was restored.
  return found === "damaged" ? { takenAtMs: 0, restoredAtMs: 0 } : found;
}

/** Removes the mark: from now on the data folder `dir` counts as an original. */
export async function removeRestoredMark(dir: string): Promise<void> {
  await rm(join(dir, restoredFile), { force: true });
  await syncFolder(dir);
}

/** Failure "damage" of a restore, with every file or value of the backup that is damaged. */
export class RestoreDamage extends Failure {
  readonly damage: readonly DamageReport[];

  constructor(damage: readonly DamageReport[]) {
    const [first, ...more] = damage.map(({ where, problem }) => `${where}: ${problem}`);
    const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
    super("damage", `the backup is damaged, nothing was restored: ${first}${others}`);
    this.damage = damage;
  }
}

/** Copies all files; throws RestoreDamage with all damaged ones at the end. */
async function copyFiles(
  from: string,
  to: string,
  { files }: BackupMarker,
  onProgress: (progress: CopyProgress) => void,
): Promise<void> {
  const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const damage: DamageReport[] = [];
  let bytes = 0;
  for (const file of files) {
    if (file.path !== normalize(file.path) || file.path.startsWith("..") || file.path.startsWith("/")) {
      throw new Failure("damage", `the backup names the file ${JSON.stringify(file.path)}`);
    }
    await mkdir(join(to, dirname(file.path)), { recursive: true });
    const problem = await copyFile(join(from, file.path), join(to, file.path), file, (done) =>
      onProgress({ phase: "copied", bytes: bytes + done, bytesTotal }),
    );
    if (problem !== undefined) damage.push({ where: file.path, problem });
    bytes += file.bytes;
  }
  if (damage.length > 0) throw new RestoreDamage(damage);
}

/** Copies one file; holes stay holes. Returns what is wrong with the file, undefined where it is intact. */
async function copyFile(
  from: string,
  to: string,
  { bytes, sha256 }: { bytes: number; sha256: string },
  onProgress: (bytes: number) => void,
): Promise<string | undefined> {
  const source = await open(from).catch((error: NodeJS.ErrnoException) => error.code);
  if (typeof source !== "object")
    return source === "ENOENT" ? "the file is missing" : `cannot be read: ${source}`;
  const target = await open(to, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    const zeros = Buffer.alloc(blockBytes);
    const block = Buffer.alloc(blockBytes);
    let at = 0;
    for (;;) {
      const { bytesRead } = await source.read(block, 0, blockBytes, at);
      if (bytesRead === 0) break;
      const content = block.subarray(0, bytesRead);
      hash.update(content);
      if (!content.equals(zeros.subarray(0, bytesRead))) await target.write(content, 0, bytesRead, at);
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
