/**
 * The manifest of a partition: which chunks it has and how far the journal is in it. It stands beside the LMDB
 * environment, in two copies, since a lookup in a damaged tree can find nothing without any error.
 */
import { join } from "node:path";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { type ChunkHeader, listAttributeKeys } from "../chunk/chunk-header.ts";
import { Failure } from "../failure.ts";
import { readCopies, writeCopies } from "../files/copied-file.ts";
import { manifestKeysMax } from "../limits.ts";

export interface Manifest {
  day: number;
  /** Grows with every write: of two copies the greater one holds. */
  version: number;
  /** Every row of this day up to this arrival number is in the chunks, or was removed from them. */
  arrivalSealed: number;
  chunkNext: number;
  chunks: ChunkEntry[];
  /** Attribute keys, up to a bound, for suggestions. */
  attributeKeys: string[];
  /** Whether some rows bear keys that are not among them. */
  moreKeys?: boolean;
  /** What damage took out of the partition, in sentences: said again at every start, until retention removes the day. */
  losses?: string[];
}

export function emptyManifest(day: number): Manifest {
  return { day, version: 0, arrivalSealed: 0, chunkNext: 1, chunks: [], attributeKeys: [] };
}

/** Adds the keys of chunks, as far as there is room for them. */
export function withKeysOf(manifest: Manifest, headers: readonly ChunkHeader[]): Manifest {
  const keys = new Set(manifest.attributeKeys);
  let isCut = manifest.moreKeys === true;
  for (const header of headers) {
    const listed = listAttributeKeys(header);
    isCut ||= !listed.isWhole;
    for (const key of listed.keys) {
      if (keys.size < manifestKeysMax) keys.add(key);
      else isCut ||= !keys.has(key);
    }
  }
  return { ...manifest, attributeKeys: [...keys], ...(isCut ? { moreKeys: true } : {}) };
}

export function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  return writeCopies(pathsIn(dir), manifest);
}

export interface ManifestRead {
  /** Undefined where the folder has no manifest: its first seal was never finished. */
  manifest: Manifest | undefined;
  problems: string[];
}

/** Throws Failure "damage" where a copy is there and none is whole. */
export async function readManifest(dir: string): Promise<ManifestRead> {
  const { value, damaged } = await readCopies<Manifest>(pathsIn(dir));
  if (value === undefined && damaged.length > 0) {
    throw new Failure("damage", `${dir}: no copy of the manifest is whole`);
  }
  const problems = damaged.map((name) => `${name}: the checksum does not match; the other copy serves`);
  return { manifest: value, problems };
}

function pathsIn(dir: string): string[] {
  return ["manifest", "manifest.copy"].map((name) => join(dir, name));
}
