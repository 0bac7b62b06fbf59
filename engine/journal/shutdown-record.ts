/**
 * The shutdown record: what the journal held at a clean shutdown. Without it, a journal that lost batches at its end
 * would look like one after a crash. It is stored in the file `closed`.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readCheckedFile, writeCheckedFile } from "../files/checked-file.ts";
import { syncFolder } from "../files/folder.ts";
import { isCount, isObjectOf } from "../files/json-shape.ts";

export interface ShutdownRecord {
  seqNext: number;
  arrivalNext: number;
}

const isShutdownRecord = isObjectOf<ShutdownRecord>({ seqNext: isCount, arrivalNext: isCount });

export function writeShutdownRecord(dir: string, record: ShutdownRecord): Promise<void> {
  return writeCheckedFile(join(dir, "closed"), record);
}

export function readShutdownRecord(dir: string): Promise<ShutdownRecord | undefined | "damaged"> {
  return readCheckedFile(join(dir, "closed"), isShutdownRecord);
}

export async function removeShutdownRecord(dir: string): Promise<void> {
  await rm(join(dir, "closed"), { force: true });
  await syncFolder(dir);
}
