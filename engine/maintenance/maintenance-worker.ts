/**
 * What the maintenance thread does with partitions: compacting parts, sealing, merging, garbage collection, repair.
 * Tasks run one at a time.
 */
import { existsSync, readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { ChunkSource, EncodedChunk } from "../chunk/chunk-header.ts";
import type { DamagedChunk, PartBytes } from "../chunk/chunk-ref.ts";
import { toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { PackedChunk } from "../chunk/packed-chunk.ts";
import { openPart, readPackedChunk, serializePart, writePart } from "../chunk/part.ts";
import { Failure, isDamage, unlessFull } from "../failure.ts";
import { makeFolder, syncFolder } from "../files/folder.ts";
import { type LmdbEnvironment, openEnvironment } from "../lmdb/environment.ts";
import { auditPageTree } from "../lmdb/page-audit.ts";
import type { DamageReport, ReportProblem } from "../model/damage-report.ts";
import { chunkKeys, headerKey, openChunk, readWholeChunk, sealChunk } from "../partition/chunk-store.ts";
import {
  addAttributeKeys,
  emptyManifest,
  type Manifest,
  readManifest,
  writeManifest,
} from "../partition/manifest.ts";
import { addLosses, repairPartition } from "../partition/repair.ts";
import { compact, compactAndPack } from "./compact-parts.ts";
import type {
  CollectGarbageTask,
  ConfirmSealTask,
  InspectAnswer,
  InspectTask,
  MergeAnswer,
  MergeTask,
  PartsTask,
  RecheckAnswer,
  RecheckTask,
  SealTask,
} from "./maintenance-task.ts";

/**
 * Compacts parts into one, serialized in shared memory, with absolute arrival numbers; into more where the rows exceed
 * a chunk's size caps.
 */
export function compactParts(task: PartsTask): Uint8Array[] {
  return compact(task.signal, openParts(task.parts), { sealed: false, caps: task.caps }).map(toSharedPart);
}

/** Encodes parts of one day as chunks that only lack their numbers. Pure: several threads may do it at a time. */
export function encodeParts(task: PartsTask): PackedChunk[] {
  return compactAndPack(task.signal, openParts(task.parts), task.caps);
}

/**
 * Writes chunks to a partition: LMDB commit first, then the manifest. Sealing the same rows again, as after a failure
 * between the manifest's two copies, adds nothing.
 */
export async function sealChunks(task: SealTask): Promise<Manifest> {
  const manifest = existsSync(dataFilePath(task.dir))
    ? await readExistingManifest(task.dir)
    : await readOrCreateManifest(task);
  if (task.arrivalSealed <= manifest.arrivalSealed) return manifest;
  const chunks = task.chunks.map((chunk) =>
    "bytes" in chunk ? readPackedChunk(chunk.bytes, chunk.arrivalBase) : chunk,
  );
  const next = {
    ...(await addChunks(task.dir, manifest, chunks)),
    arrivalSealed: Math.max(manifest.arrivalSealed, task.arrivalSealed),
  };
  await writeManifest(task.dir, next);
  return next;
}

/**
 * Returns the manifest as a failed seal left it. A manifest that names new chunks may be visible and not yet durable,
 * so it is written anew: otherwise a crash could take the chunks back after their rows have left the journal.
 */
export async function confirmSeal({ dir, day, arrivalSealed }: ConfirmSealTask): Promise<Manifest> {
  const { manifest = emptyManifest(day) } = await readManifest(dir);
  if (manifest.arrivalSealed <= arrivalSealed) return manifest;
  const next = { ...manifest, version: manifest.version + 1 };
  await writeManifest(dir, next);
  return next;
}

/**
 * Writes the merged chunks beside the old ones; the manifest then names the new ones alone. Where they would be more than
 * half as many, nothing is written. Chunks that cannot be read completely are left out and reported; the manifest still
 * names them. Where the manifest no longer names a chunk of
 * the task, an earlier run has merged them already.
 */
export async function mergeChunks(task: MergeTask): Promise<MergeAnswer> {
  const manifest = await readExistingManifest(task.dir);
  const named = new Set(manifest.chunks.map(({ id }) => id));
  if (!task.chunks.every(({ id }) => named.has(id))) {
    return { manifest, merged: task.chunks.map(({ id }) => id).filter((id) => !named.has(id)), damaged: [] };
  }
  const environment = openEnvironment(task.dir, { readOnly: true });
  const damaged: DamagedChunk[] = [];
  const merged = new Set<number>();
  let packed: PackedChunk[];
  try {
    const sources = task.chunks.flatMap((entry) => {
      const ref = { kind: "sealed", signal: task.signal, day: task.day, dir: task.dir, entry } as const;
      try {
        const source = openChunk(environment, entry, task.dir);
        // Reads every column, so that damage shows before anything is merged.
        for (let i = 0; i < source.header.columns.length; i++) source.payload(i);
        merged.add(entry.id);
        return [source];
      } catch (error) {
        damaged.push(toDamagedChunk(ref, error));
        return [];
      }
    });
    packed = compactAndPack(task.signal, sources, task.caps);
  } finally {
    await environment.close();
  }
  // Rows that are long fill chunks by their bytes: merged, they are nearly as many chunks as before.
  if (packed.length * 2 > merged.size) return { manifest, merged: [], damaged };
  const remaining = manifest.chunks.filter((entry) => !merged.has(entry.id));
  const next = await addChunks(task.dir, { ...manifest, chunks: remaining }, packed);
  await writeManifest(task.dir, next);
  return { manifest: next, merged: [...merged], damaged };
}

/** Removes chunks from the manifest, where it still names them, then removes their values. */
export async function collectGarbage(task: CollectGarbageTask): Promise<Manifest> {
  const manifest = await readExistingManifest(task.dir);
  const garbage = new Set(task.chunks);
  const chunks = manifest.chunks.filter((entry) => !garbage.has(entry.id));
  const next =
    chunks.length === manifest.chunks.length
      ? manifest
      : { ...manifest, version: manifest.version + 1, chunks };
  if (next !== manifest) await writeManifest(task.dir, next);
  const garbageKeys = (await listKeys(task.dir)).filter((key) => garbage.has(key.readUInt32BE(0)));
  const hexKeys = garbageKeys.map((key) => key.toString("hex"));
  await removeKeys(task.dir, hexKeys);
  return next;
}

/** Throws Failure "damage". */
async function listKeys(dir: string): Promise<Buffer[]> {
  const environment = openEnvironment(dir, { readOnly: true });
  try {
    return environment.keys().map((key) => Buffer.from(key));
  } finally {
    await environment.close();
  }
}

/** Rebuilds a partition that another task found damaged. */
export async function repairFoundDamage(task: InspectTask): Promise<InspectAnswer> {
  const damage: DamageReport[] = [];
  const report = (problem: string) => damage.push({ where: task.dir, problem });
  return { manifest: await repairPartition(task.dir, task.day, report), damage };
}

/**
 * Checks a partition's manifest and tree at start. Values that no manifest names, left by a crash between LMDB commit
 * and manifest, are removed. A damaged partition is rebuilt from the values that can still be read.
 */
export async function inspectPartition(task: InspectTask): Promise<InspectAnswer> {
  const damage: DamageReport[] = [];
  const report = (problem: string) => damage.push({ where: task.dir, problem });
  if (!existsSync(dataFilePath(task.dir)))
    return { manifest: await recoverWithoutDataFile(task, report), damage };
  try {
    const { manifest, problems } = await readManifest(task.dir);
    problems.forEach(report);
    if (manifest === undefined) throw missingManifestFailure(task.dir);
    manifest.losses?.forEach(report);
    if (problems.length > 0)
      await unlessFull(writeManifest(task.dir, { ...manifest, version: manifest.version + 1 }));
    return { manifest: await checkTree(task.dir, manifest), damage };
  } catch (error) {
    if (!isDamage(error)) throw error;
    report(error.message);
    return { manifest: await repairPartition(task.dir, task.day, report), damage };
  }
}

/**
 * Repairs a partition of a running store whose tree is damaged, and finds out which of its quarantined chunks are whole. A
 * data file that is missing is left to the next start: open files may still hold it.
 */
export async function recheckPartition({ dir, day, chunks }: RecheckTask): Promise<RecheckAnswer> {
  const damage: DamageReport[] = [];
  let manifest: Manifest;
  try {
    manifest = await readExistingManifest(dir);
    if (!existsSync(dataFilePath(dir))) return { manifest, damage, whole: [] };
    await checkTree(dir, manifest);
  } catch (error) {
    if (!isDamage(error)) throw error;
    damage.push({ where: dir, problem: error.message });
    manifest = await repairPartition(dir, day, (problem) => damage.push({ where: dir, problem }));
  }
  const environment = openEnvironment(dir, { readOnly: true });
  try {
    const entries = manifest.chunks.filter(({ id }) => chunks.includes(id));
    const whole = entries.filter((entry) => isWholeChunk(environment, entry, dir)).map(({ id }) => id);
    return { manifest, damage, whole };
  } finally {
    await environment.close();
  }
}

function isWholeChunk(environment: LmdbEnvironment, entry: ChunkEntry, dir: string): boolean {
  try {
    readWholeChunk(openChunk(environment, entry, dir));
    return true;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Handles a folder without a data file: reports every chunk that its manifest names as lost. */
async function recoverWithoutDataFile(task: InspectTask, report: ReportProblem): Promise<Manifest> {
  const losses: string[] = [];
  let manifest = emptyManifest(task.day);
  try {
    manifest = (await readManifest(task.dir)).manifest ?? manifest;
    const lost = manifest.chunks.length;
    if (lost > 0) losses.push(`data.mdb is missing; ${lost} chunks are lost`);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    losses.push("data.mdb is missing, and no copy of the manifest is whole");
  }
  const next = { ...addLosses(manifest, losses), chunks: [] };
  if (losses.length > 0) await writeManifest(task.dir, { ...next, version: next.version + 1 });
  next.losses?.forEach(report);
  return next;
}

/**
 * Audits the tree and removes orphaned values. Throws Failure "damage" where the tree is unsound or lacks a value of a
 * chunk.
 */
async function checkTree(dir: string, manifest: Manifest): Promise<Manifest> {
  const { ok, problems } = auditPageTree(dataFilePath(dir));
  if (!ok) throw new Failure("damage", `${dir}: ${problems.join("; ")}`);
  const environment = openEnvironment(dir, { readOnly: true });
  let orphans: string[];
  try {
    orphans = findOrphanKeys(environment, dir, manifest);
  } finally {
    await environment.close();
  }
  if (orphans.length > 0) await unlessFull(removeKeys(dir, orphans));
  return manifest;
}

/**
 * Keys, in hexadecimal, that belong to no chunk of the manifest. Throws Failure "damage" where a chunk lacks a value.
 */
function findOrphanKeys(environment: LmdbEnvironment, dir: string, manifest: Manifest): string[] {
  const present = new Set(environment.keys().map((key) => Buffer.from(key).toString("hex")));
  for (const entry of manifest.chunks) {
    const { header } = openChunk(environment, entry, dir);
    for (const key of [
      headerKey(entry.id),
      ...chunkKeys(entry.id, header.columns.all()).map(({ key }) => key),
    ]) {
      if (!present.delete(key.toString("hex"))) {
        throw new Failure("damage", `${dir} chunk ${entry.id}: a value is missing`);
      }
    }
  }
  return [...present];
}

async function writePartition(dir: string, change: Parameters<LmdbEnvironment["write"]>[0]): Promise<void> {
  const environment = openEnvironment(dir, { readOnly: false });
  try {
    await environment.write(change);
  } finally {
    await environment.close();
  }
}

async function removeKeys(dir: string, keys: readonly string[]): Promise<void> {
  await writePartition(dir, (transaction) => {
    for (const key of keys) transaction.remove(Buffer.from(key, "hex"));
  });
}

/** Writes chunks in one transaction, then returns the manifest that names them; the caller writes that. */
async function addChunks(dir: string, manifest: Manifest, packed: readonly PackedChunk[]): Promise<Manifest> {
  const sealed = packed.map((chunk, i) => sealChunk(chunk, manifest.chunkNext + i));
  await writePartition(dir, (transaction) => {
    for (const { values } of sealed) for (const { key, frame } of values) transaction.put(key, frame);
  });
  const chunks: ChunkEntry[] = [...manifest.chunks, ...sealed.map(({ entry }) => entry)];
  const headers = packed.map(({ header }) => header);
  return {
    ...addAttributeKeys(manifest, headers),
    version: manifest.version + 1,
    chunkNext: manifest.chunkNext + packed.length,
    chunks: chunks.sort((a, b) => a.timeNsMin - b.timeNsMin || a.id - b.id),
  };
}

async function readExistingManifest(dir: string): Promise<Manifest> {
  const { manifest } = await readManifest(dir);
  if (manifest === undefined) throw missingManifestFailure(dir);
  return manifest;
}

/**
 * Writes the first manifest before there is a data file. So a data file without a manifest means that the manifest was
 * lost.
 */
async function readOrCreateManifest({ dir, day }: SealTask): Promise<Manifest> {
  const { manifest } = await readManifest(dir);
  if (manifest !== undefined) return manifest;
  const first = { ...emptyManifest(day), version: 1 };
  await makeFolder(dir);
  await writeManifest(dir, first);
  return first;
}

function missingManifestFailure(dir: string): Failure {
  return new Failure("damage", `${dir}: the manifest is missing`);
}

function dataFilePath(dir: string): string {
  return join(dir, "data.mdb");
}

function openParts(parts: readonly PartBytes[]): ChunkSource[] {
  return parts.map(({ bytes, arrivalBase }) => openPart(bytes, arrivalBase));
}

function toSharedPart(chunk: EncodedChunk): Uint8Array {
  const part = serializePart(chunk);
  const bytes = new Uint8Array(new SharedArrayBuffer(part.byteLength));
  writePart(part, bytes, 0);
  return bytes;
}

/** Renames a folder before removing it, so that a crash half-way does not leave what looks like a damaged partition. */
export async function dropPartition(dir: string): Promise<void> {
  const dropped = `${dir}${droppedSuffix}`;
  if (existsSync(dir)) {
    await rm(dropped, { recursive: true, force: true });
    await rename(dir, dropped);
    await syncFolder(dirname(dir));
  }
  await rm(dropped, { recursive: true, force: true });
}

const droppedSuffix = ".dropped";
/** Names of folders that a crash left half removed or half rebuilt. */
const leftoverName = /\.(?:dropped|rebuilt)$/;

/** Removes such folders from a signal's folder. */
export async function removeLeftovers(dir: string): Promise<void> {
  const names = existsSync(dir) ? readdirSync(dir).filter((name) => leftoverName.test(name)) : [];
  for (const name of names) await rm(join(dir, name), { recursive: true, force: true });
}
