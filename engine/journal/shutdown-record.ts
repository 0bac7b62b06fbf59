/** What the journal held when the store was closed in good order: without it, a cut journal looks like a crash. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readChecked, writeChecked } from "../files/checked-file.ts";
import { syncFolder } from "../files/folder.ts";

export interface Closing {
  seqNext: number;
  arrivalNext: number;
}

export function writeClosing(dir: string, closing: Closing): Promise<void> {
  return writeChecked(join(dir, "closed"), closing);
}

export function readClosing(dir: string): Promise<Closing | undefined | "damaged"> {
  return readChecked<Closing>(join(dir, "closed"));
}

export async function removeClosing(dir: string): Promise<void> {
  await rm(join(dir, "closed"), { force: true });
  await syncFolder(dir);
}
