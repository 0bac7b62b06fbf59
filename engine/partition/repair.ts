/** Rebuilds a partition whose tree or manifest is damaged from the values that are still whole, wherever they lie in the file. */
import { existsSync } from "node:fs";
import { link, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { type ChunkHeader, parseHeader } from "../chunk/chunk-header.ts";
import { Failure } from "../failure.ts";
import { syncFolder } from "../files/folder.ts";
import { FrameKind, frameChecksum, frameIsWhole, openFrame } from "../files/frame.ts";
import { openEnvironment } from "../lmdb/environment.ts";
import { auditPageTree } from "../lmdb/page-audit.ts";
import { rebuildEnvironment, salvageFrames } from "../lmdb/salvage.ts";
import { chunkKeys, headerKey } from "./chunk-store.ts";
import { emptyManifest, type Manifest, readManifest, withKeysOf, writeManifest } from "./manifest.ts";

/**
 * Reports what is lost, and notes it in the manifest; the damaged file stays beside the new one as `data.mdb.damaged`.
 */
export async function repairPartition(
  dir: string,
  day: number,
  report: (problem: string) => void,
): Promise<Manifest> {
  const losses: string[] = [];
  const lose = (problem: string) => {
    losses.push(problem);
    report(problem);
  };
  const known = await knownManifest(dir, day, lose);
  const salvaged = salvageHeaders(join(dir, "data.mdb"));
  const headers = known.isWhole ? salvaged : inUse(dir, salvaged);
  const found = chunksToSave(known.manifest, headers, known.isWhole, lose);
  const rebuilt = `${dir}.rebuilt`;
  await rm(rebuilt, { recursive: true, force: true });
  const wanted = new Map<string, number>();
  for (const { entry, header } of found) {
    wanted.set(headerKey(entry.id).toString("hex"), entry.checksum);
    for (const { key, checksum } of chunkKeys(entry.id, header))
      wanted.set(key.toString("hex"), checksum ?? 0);
  }
  const { missing } = await rebuildEnvironment(dir, rebuilt, wanted);
  const lost = new Set(missing.map((key) => Number.parseInt(key.slice(0, 8), 16)));
  const chunks = found.map(({ entry }) => entry).filter((entry) => !lost.has(entry.id));
  for (const { entry } of found) {
    if (lost.has(entry.id)) lose(`chunk ${entry.id} (${entry.rows} rows) is damaged and was set aside`);
  }
  report(
    `rebuilt: ${chunks.length} chunks with ${chunks.reduce((sum, { rows }) => sum + rows, 0)} rows could be read`,
  );
  // Rows that the journal still holds must not come in a second time.
  const arrivalSealed = Math.max(known.manifest.arrivalSealed, ...found.map(({ entry }) => entry.arrivalMax));
  const chunkNext = Math.max(known.manifest.chunkNext, ...found.map(({ entry }) => entry.id + 1));
  const version = known.manifest.version + 1;
  const headersFound = found.map(({ header }) => header);
  const whole = known.isWhole ? known.manifest : withKeysOf(known.manifest, headersFound);
  const manifest = { ...withoutLostChunks(whole, losses), version, arrivalSealed, chunkNext, chunks };
  await replaceData(dir, rebuilt);
  await writeManifest(dir, manifest);
  return manifest;
}

export function withoutLostChunks(manifest: Manifest, losses: readonly string[]): Manifest {
  return losses.length === 0 ? manifest : { ...manifest, losses: [...(manifest.losses ?? []), ...losses] };
}

/** A second name for the damaged file first: at every moment there is a data.mdb. */
async function replaceData(dir: string, rebuilt: string): Promise<void> {
  const data = join(dir, "data.mdb");
  const kept = `${data}.damaged`;
  if (existsSync(data) && !existsSync(kept)) await link(data, kept);
  await rename(join(rebuilt, "data.mdb"), data);
  await rm(rebuilt, { recursive: true, force: true });
  await syncFolder(dir);
}

async function knownManifest(
  dir: string,
  day: number,
  lose: (problem: string) => void,
): Promise<{ manifest: Manifest; isWhole: boolean }> {
  try {
    const { manifest } = await readManifest(dir);
    if (manifest !== undefined) return { manifest, isWhole: true };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  lose(
    "without its manifest, every chunk whose header is whole is taken; what was merged since may stand twice",
  );
  return { manifest: emptyManifest(day), isWhole: false };
}

interface SalvagedHeader {
  id: number;
  checksum: number;
  bytes: number;
  header: ChunkHeader;
}

function salvageHeaders(file: string): SalvagedHeader[] {
  const headers: SalvagedHeader[] = [];
  for (const { frame } of salvageFrames(file)) {
    const opened = openFrame(frame);
    if (opened?.kind !== FrameKind.chunkHeader) continue;
    const header = parseHeader(opened.payload);
    const bytes = header.columns.reduce((sum, { storedBytes = 0 }) => sum + storedBytes, frame.byteLength);
    headers.push({
      id: Buffer.from(opened.key).readUInt32BE(0),
      checksum: frameChecksum(frame),
      bytes,
      header,
    });
  }
  return headers;
}

/** Those that a sound tree leads to; of an unsound one all, among them those of chunks that were merged or removed since. */
function inUse(dir: string, headers: SalvagedHeader[]): SalvagedHeader[] {
  if (!auditPageTree(join(dir, "data.mdb")).ok) return headers;
  const environment = openEnvironment(dir, { readOnly: true });
  try {
    return headers.filter(({ id, checksum }) => {
      const stored = environment.get(headerKey(id));
      return stored !== undefined && frameIsWhole(stored) && frameChecksum(stored) === checksum;
    });
  } finally {
    void environment.close();
  }
}

function chunksToSave(
  manifest: Manifest,
  headers: readonly SalvagedHeader[],
  isWhole: boolean,
  lose: (problem: string) => void,
): { entry: ChunkEntry; header: ChunkHeader }[] {
  if (!isWhole) {
    // Trees are copied page by page, so that a small header may lie in the file more than once.
    const byId = new Map(headers.map((salvaged) => [salvaged.id, salvaged]));
    return [...byId.values()].map((salvaged) => ({ entry: entryOf(salvaged), header: salvaged.header }));
  }
  return manifest.chunks.flatMap((entry) => {
    const salvaged = headers.find(({ id, checksum }) => id === entry.id && checksum === entry.checksum);
    if (salvaged === undefined)
      lose(`chunk ${entry.id} (${entry.rows} rows) has lost its header and was set aside`);
    return salvaged === undefined ? [] : [{ entry, header: salvaged.header }];
  });
}

function entryOf({ id, checksum, bytes, header }: SalvagedHeader): ChunkEntry {
  const { rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax } = header;
  return { id, rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax, bytes, checksum };
}
