/** Small checked files that must not be lost to one flipped bit: two copies, the whole one with the greater version holds. */
import { basename } from "node:path";
import { readChecked, writeChecked } from "./checked-file.ts";

export interface Versioned {
  /** Grows with every write. */
  version: number;
}

export interface CopiedFileRead<T> {
  /** Undefined where there is no whole copy. */
  value: T | undefined;
  /** Copies that are not whole. */
  damaged: string[];
}

/** Writes one after the other: a crash between leaves the older one whole. */
export async function writeCopies(paths: readonly string[], value: Versioned): Promise<void> {
  for (const path of paths) await writeChecked(path, value);
}

export async function readCopies<T extends Versioned>(paths: readonly string[]): Promise<CopiedFileRead<T>> {
  const damaged: string[] = [];
  let newest: T | undefined;
  for (const path of paths) {
    const copy = await readChecked<T>(path);
    if (copy === "damaged") damaged.push(basename(path));
    else if (copy !== undefined && (newest === undefined || copy.version > newest.version)) newest = copy;
  }
  return { value: newest, damaged };
}
