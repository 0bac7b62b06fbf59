/**
 * Small checked files that must survive one flipped bit. There are two copies. Of the intact ones, the copy with the
 * greater version is current.
 */
import { basename } from "node:path";
import { isDamage } from "../failure.ts";
import { readCheckedFile, writeCheckedFile } from "./checked-file.ts";

export interface Versioned {
  /** Grows with every write. */
  version: number;
}

export interface CopiedFileRead<T> {
  /** Undefined where no copy is intact. */
  value: T | undefined;
  /** File names of the copies that are not what was written. */
  damaged: string[];
  /** File names of the copies that do not exist. */
  missing: string[];
}

/** Writes the copies one after the other: after a crash in between, the other one still holds the older version. */
export async function writeCopies(paths: readonly string[], value: Versioned): Promise<void> {
  for (const path of paths) await writeCheckedFile(path, value);
}

/** Reads every copy. `isValid`: whether a copy with a right checksum says what it should. */
export async function readCopies<T extends Versioned>(
  paths: readonly string[],
  isValid: (value: unknown) => value is T,
): Promise<CopiedFileRead<T>> {
  const damaged: string[] = [];
  const missing: string[] = [];
  let newest: T | undefined;
  for (const path of paths) {
    const copy = await readCheckedFile(path, isValid).catch(toDamaged);
    if (copy === "damaged") damaged.push(basename(path));
    else if (copy === undefined) missing.push(basename(path));
    else if (newest === undefined || copy.version > newest.version) newest = copy;
  }
  return { value: newest, damaged, missing };
}

/** A copy that is a link or a device is as good as damaged. */
function toDamaged(error: unknown): "damaged" {
  if (isDamage(error)) return "damaged";
  throw error;
}
