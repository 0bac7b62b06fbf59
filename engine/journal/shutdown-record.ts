/** What the journal held when the store was closed in good order: without it, a cut journal looks like a crash. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readCheckedFile, writeCheckedFile } from "../files/checked-file.ts";
import { syncFolder } from "../files/folder.ts";

export interface ShutdownRecord {
  seqNext: number;
  arrivalNext: number;
}

export function writeShutdownRecord(dir: string, closing: ShutdownRecord): Promise<void> {
  return writeCheckedFile(join(dir, "closed"), closing);
}

export function readShutdownRecord(dir: string): Promise<ShutdownRecord | undefined | "damaged"> {
  return readCheckedFile<ShutdownRecord>(join(dir, "closed"));
}

export async function removeShutdownRecord(dir: string): Promise<void> {
  await rm(join(dir, "closed"), { force: true });
  await syncFolder(dir);
}
