/**
 * Opens, checks and copies what is stored. The code that does so is loaded when it is first needed: it is most of the
 * engine, and whoever filters rows or asks a server needs none of it.
 */

import type { BackupMarker, CopyProgress } from "./backup/backup-folder.ts";
import type { Restored, RestoredFrom } from "./backup/restore.ts";
import type { SignalInventory } from "./inspect/inventory.ts";
import type { VerifyProgress, VerifyReport } from "./inspect/verify.ts";
import type { StateOptions, StoredState } from "./state/state.ts";
import type { Store } from "./store.ts";
import type { StoreOptions } from "./store-options.ts";

/**
 * Opens the data folder, and creates it where it is missing. Throws Failure "folder" where another process has it open
 * or it is of another format, "damage" where what it needs cannot be read.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { Store } = await import("./store.ts");
  return Store.open(options);
}

/**
 * Opens the state in `dir`, and creates it where it is missing. A damaged copy is rebuilt from the other one; `damage`
 * reports what was found and what is lost.
 */
export async function openState(dir: string, options?: StateOptions): Promise<StoredState> {
  const { openState } = await import("./state/state.ts");
  return openState(dir, options);
}

/**
 * Verifies the store in the data folder `dir`: audits the page trees, compares every checksum, and scans the journal.
 * Damage is reported, not thrown. Throws Failure "folder" where `dir` is not a data folder of this format.
 */
export async function verifyStore(
  dir: string,
  onProgress?: (progress: VerifyProgress) => void,
): Promise<VerifyReport> {
  const { verifyStore } = await import("./inspect/verify.ts");
  return verifyStore(dir, onProgress);
}

/** Reads what the data folder `dir` holds of each signal. Throws Failure "folder" where it is no data folder. */
export async function readInventory(dir: string): Promise<SignalInventory[]> {
  const { readInventory } = await import("./inspect/inventory.ts");
  return readInventory(dir);
}

/**
 * Writes the stream of `Backup.pieces` as a backup into the new folder `dir`, and verifies it. Throws Failure "folder"
 * where the folder is not empty, "disk-full" where the disk has too little space, and "damage" where the stream is
 * damaged or incomplete; nothing is left over in any of these cases.
 */
export async function writeBackup(
  pieces: AsyncIterable<Uint8Array>,
  dir: string,
  onProgress: (progress: CopyProgress) => void,
): Promise<BackupMarker> {
  const { writeBackup } = await import("./backup/backup-folder.ts");
  return writeBackup(pieces, dir, onProgress);
}

/**
 * Restores the backup in `dir` to the new data folder `target`. Throws Failure "folder" where `dir` is no complete
 * backup or `target` is not empty, "disk-full" where the disk has too little space, and "damage" (RestoreDamage) where a
 * byte is not what was written; nothing is left over in any of these cases.
 */
export async function restoreBackup(
  dir: string,
  target: string,
  options: { nowMs: number; onProgress: (progress: CopyProgress) => void },
): Promise<Restored> {
  const { restoreBackup } = await import("./backup/restore.ts");
  return restoreBackup(dir, target, options);
}

/**
 * Reads from which backup the data folder `dir` was restored. Undefined where it was not restored; both times are 0
 * where the mark is damaged.
 */
export async function readRestoredMark(dir: string): Promise<RestoredFrom | undefined> {
  const { readRestoredMark } = await import("./backup/restore.ts");
  return readRestoredMark(dir);
}

/** Removes the mark: from now on the data folder `dir` counts as an original. */
export async function removeRestoredMark(dir: string): Promise<void> {
  const { removeRestoredMark } = await import("./backup/restore.ts");
  return removeRestoredMark(dir);
}
