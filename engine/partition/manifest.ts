/**
 * The manifest of a partition: its chunks, and up to which arrival number the journal is sealed into them. It is kept
 * outside the LMDB environment because a lookup in a damaged tree can miss a key without any error; in two copies.
 */
import { join } from "node:path";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { type ChunkHeader, listAttributeKeys } from "../chunk/chunk-header.ts";
import { Failure } from "../failure.ts";
import { readCopies, writeCopies } from "../files/copied-file.ts";
import { isCount, isListOf, isNumber, isObjectOf, isOptional, isText } from "../files/json-shape.ts";
import { manifestKeysMax } from "../limits.ts";

/** The content of a manifest file; FORMAT.md has the fields one by one. */
export interface Manifest {
  day: number;
  /** Grows with every write. Of the two copies the one with the greater version is valid. */
  version: number;
  /** Every row of this signal and day up to this arrival number is in the chunks, or was removed by retention. */
  arrivalSealed: number;
  chunkNext: number;
  chunks: ChunkEntry[];
  /** Attribute keys for suggestions, at most `manifestKeysMax`. */
  attributeKeys: string[];
  /** True where rows have keys that `attributeKeys` does not list. */
  moreKeys?: boolean;
  /** What was lost to damage, one sentence each. Reported again at every start until retention removes the day. */
  losses?: string[];
}

/** Returns whether parsed JSON is a manifest. */
export const isManifest = isObjectOf<Manifest>({
  day: isCount,
  version: isCount,
  arrivalSealed: isCount,
  chunkNext: isCount,
  chunks: isListOf(
    isObjectOf<ChunkEntry>({
      id: isCount,
      rows: isCount,
      timeNsMin: isNumber,
      timeNsMax: isNumber,
      arrivalMin: isNumber,
      arrivalMax: isNumber,
      bytes: isCount,
      checksum: isCount,
    }),
  ),
  attributeKeys: isListOf(isText),
  moreKeys: isOptional((value) => typeof value === "boolean"),
  losses: isOptional(isListOf(isText)),
});

/** The manifest of a partition without chunks; version 0 was never written. */
export function emptyManifest(day: number): Manifest {
  return { day, version: 0, arrivalSealed: 0, chunkNext: 1, chunks: [], attributeKeys: [] };
}

/** Adds the attribute keys of chunks, up to `manifestKeysMax`. */
export function addAttributeKeys(manifest: Manifest, headers: readonly ChunkHeader[]): Manifest {
  const keys = new Set(manifest.attributeKeys);
  let hasMore = manifest.moreKeys === true;
  for (const header of headers) {
    const listed = listAttributeKeys(header.columns);
    hasMore ||= !listed.isWhole;
    for (const key of listed.keys) {
      if (keys.size < manifestKeysMax) keys.add(key);
      else hasMore ||= !keys.has(key);
    }
  }
  return { ...manifest, attributeKeys: [...keys], ...(hasMore ? { moreKeys: true } : {}) };
}

/** Replaces both copies, one after the other. */
export function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  return writeCopies(manifestPaths(dir), manifest);
}

/** A manifest as it was read, and what was wrong with its copies. */
export interface StoredManifest {
  /** Undefined where the folder has no manifest: its first seal was never finished. */
  manifest: Manifest | undefined;
  /** One message for each copy that is damaged or missing while the other is intact. */
  problems: string[];
}

/** Throws Failure "damage" where there are copies and none of them is intact. */
export async function readManifest(dir: string): Promise<StoredManifest> {
  const { value, damaged, missing } = await readCopies(manifestPaths(dir), isManifest);
  if (value === undefined && damaged.length > 0) {
    throw new Failure("damage", `${dir}: no copy of the manifest is whole`);
  }
  if (value === undefined) return { manifest: undefined, problems: [] };
  const problems = damaged.map((name) => `${name}: the checksum does not match; the other copy serves`);
  for (const name of missing) problems.push(`${name}: the copy is missing; the other one serves`);
  return { manifest: value, problems };
}

function manifestPaths(dir: string): string[] {
  return ["manifest", "manifest.copy"].map((name) => join(dir, name));
}
