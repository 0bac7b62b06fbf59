/**
 * Small checked files that must survive one flipped bit. There are two copies. Of the intact ones, the copy with the
 * greater version is current.
 */
import { basename } from "node:path";
import { readCheckedFile, writeCheckedFile } from "./checked-file.ts";

export interface Versioned {
  /** Grows with every write. */
  version: number;
}

export interface CopiedFileRead<T> {
  /** Undefined where no copy is intact. */
  value: T | undefined;
  /** File names of the copies whose checksum does not match. */
  damaged: string[];
}

/** Writes the copies one after the other: after a crash in between, the other one still holds the older version. */
export async function writeCopies(paths: readonly string[], value: Versioned): Promise<void> {
  for (const path of paths) await writeCheckedFile(path, value);
}

/** Reads every copy. A missing copy is not reported as damaged. */
export async function readCopies<T extends Versioned>(paths: readonly string[]): Promise<CopiedFileRead<T>> {
  const damaged: string[] = [];
  let newest: T | undefined;
  for (const path of paths) {
    const copy = await readCheckedFile<T>(path);
    if (copy === "damaged") damaged.push(basename(path));
    else if (copy !== undefined && (newest === undefined || copy.version > newest.version)) newest = copy;
  }
  return { value: newest, damaged };
}
