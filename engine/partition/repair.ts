/**
 * Rebuilds a partition whose LMDB tree or manifest is damaged, from the frames that are still intact anywhere in its
 * file.
 */
import { existsSync } from "node:fs";
import { link, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { makeChunkEntry } from "../chunk/chunk-entry.ts";
import { type ChunkHeader, parseHeader } from "../chunk/chunk-header.ts";
import { Failure } from "../failure.ts";
import { syncFolder } from "../files/folder.ts";
import { decodeFrame, FrameKind, isIntactFrame, readFrameChecksum } from "../files/frame.ts";
import { openEnvironment } from "../lmdb/environment.ts";
import { auditPageTree } from "../lmdb/page-audit.ts";
import { rebuildEnvironment, salvageFrames } from "../lmdb/salvage.ts";
import type { ReportProblem } from "../model/damage-report.ts";
import { chunkKeys, headerKey } from "./chunk-store.ts";
import { addAttributeKeys, emptyManifest, type Manifest, readManifest, writeManifest } from "./manifest.ts";

/**
 * Rebuilds a partition and returns its new manifest. What is lost is reported and noted in the manifest; the damaged
 * file is kept beside the new one as `data.mdb.damaged`.
 */
export async function repairPartition(dir: string, day: number, report: ReportProblem): Promise<Manifest> {
  const losses: string[] = [];
  const reportLoss: ReportProblem = (problem) => {
    losses.push(problem);
    report(problem);
  };
  const known = await readKnownManifest(dir, day, reportLoss);
  const salvaged = salvageHeaders(join(dir, "data.mdb"));
  const headers = known.isIntact ? salvaged : await selectReachable(dir, salvaged);
  const found = selectChunksToSave(known, headers, reportLoss);
  const rebuilt = `${dir}.rebuilt`;
  await rm(rebuilt, { recursive: true, force: true });
  const wanted = new Map<string, number>();
  for (const { entry, header } of found) {
    wanted.set(headerKey(entry.id).toString("hex"), entry.checksum);
    for (const { key, checksum } of chunkKeys(entry.id, header.columns))
      wanted.set(key.toString("hex"), checksum ?? 0);
  }
  const { missing } = await rebuildEnvironment(dir, rebuilt, wanted);
  const lost = new Set(missing.map((key) => Number.parseInt(key.slice(0, 8), 16)));
  const chunks = found.map(({ entry }) => entry).filter((entry) => !lost.has(entry.id));
  for (const { entry } of found) {
    if (lost.has(entry.id)) reportLoss(`chunk ${entry.id} (${entry.rows} rows) is damaged and was left out`);
  }
  report(
    `rebuilt: ${chunks.length} chunks with ${chunks.reduce((sum, { rows }) => sum + rows, 0)} rows could be read`,
  );
  // The journal must not add rows a second time that are in a salvaged chunk.
  let { arrivalSealed, chunkNext } = known.manifest;
  for (const { entry } of found) {
    arrivalSealed = Math.max(arrivalSealed, entry.arrivalMax);
    chunkNext = Math.max(chunkNext, entry.id + 1);
  }
  const version = known.manifest.version + 1;
  const headersFound = found.map(({ header }) => header);
  const base = known.isIntact ? known.manifest : addAttributeKeys(known.manifest, headersFound);
  const manifest = { ...addLosses(base, losses), version, arrivalSealed, chunkNext, chunks };
  await replaceDataFile(dir, rebuilt);
  await writeManifest(dir, manifest);
  return manifest;
}

/** The manifest that a repair begins with. */
interface KnownManifest {
  manifest: Manifest;
  /** False where it was made anew, since no copy could be read. */
  isIntact: boolean;
}

/** The manifest with further losses noted. */
export function addLosses(manifest: Manifest, losses: readonly string[]): Manifest {
  return losses.length === 0 ? manifest : { ...manifest, losses: [...(manifest.losses ?? []), ...losses] };
}

/**
 * Puts the rebuilt file in place. The damaged file gets its second name first, so that there is a `data.mdb` at every
 * moment.
 */
async function replaceDataFile(dir: string, rebuilt: string): Promise<void> {
  const data = join(dir, "data.mdb");
  const damaged = `${data}.damaged`;
  if (existsSync(data) && !existsSync(damaged)) await link(data, damaged);
  await rename(join(rebuilt, "data.mdb"), data);
  await rm(rebuilt, { recursive: true, force: true });
  await syncFolder(dir);
}

/** The stored manifest, or an empty one where no copy of it is intact. */
async function readKnownManifest(
  dir: string,
  day: number,
  reportLoss: ReportProblem,
): Promise<KnownManifest> {
  try {
    const { manifest } = await readManifest(dir);
    if (manifest !== undefined) return { manifest, isIntact: true };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  reportLoss(
    "without its manifest, every chunk whose header is whole is taken; what was merged since may stand twice",
  );
  return { manifest: emptyManifest(day), isIntact: false };
}

/** A chunk header found in the data file, and the stored bytes of the whole chunk. */
interface SalvagedHeader {
  id: number;
  checksum: number;
  bytes: number;
  header: ChunkHeader;
}

function salvageHeaders(file: string): SalvagedHeader[] {
  const headers: SalvagedHeader[] = [];
  for (const { frame } of salvageFrames(file)) {
    const opened = decodeFrame(frame);
    if (opened?.kind !== FrameKind.chunkHeader) continue;
    const header = parseHeader(opened.payload);
    const bytes = header.columns.reduce(
      (sum, { storedBytes = 0, filterStoredBytes = 0 }) => sum + storedBytes + filterStoredBytes,
      frame.byteLength,
    );
    const id = Buffer.from(opened.key).readUInt32BE(0);
    headers.push({ id, checksum: readFrameChecksum(frame), bytes, header });
  }
  return headers;
}

/**
 * Without a manifest: the headers that the tree leads to, where the tree is sound. Otherwise all of them, which
 * includes headers of chunks that were merged or removed.
 */
async function selectReachable(dir: string, headers: SalvagedHeader[]): Promise<SalvagedHeader[]> {
  if (!auditPageTree(join(dir, "data.mdb")).ok) return headers;
  const environment = openEnvironment(dir, { readOnly: true });
  try {
    return headers.filter(({ id, checksum }) => {
      const stored = environment.get(headerKey(id));
      return stored !== undefined && isIntactFrame(stored) && readFrameChecksum(stored) === checksum;
    });
  } finally {
    await environment.close();
  }
}

/** The chunks to rebuild: those of an intact manifest whose header was salvaged, else every salvaged chunk. */
function selectChunksToSave(
  { manifest, isIntact }: KnownManifest,
  headers: readonly SalvagedHeader[],
  reportLoss: ReportProblem,
): { entry: ChunkEntry; header: ChunkHeader }[] {
  if (!isIntact) {
    // LMDB copies pages on write, so a small header may lie in the file more than once.
    const byId = new Map(headers.map((salvaged) => [salvaged.id, salvaged]));
    return [...byId.values()].map((salvaged) => ({
      entry: makeChunkEntry(salvaged, salvaged.header),
      header: salvaged.header,
    }));
  }
  return manifest.chunks.flatMap((entry) => {
    const salvaged = headers.find(({ id, checksum }) => id === entry.id && checksum === entry.checksum);
    if (salvaged === undefined)
      reportLoss(`chunk ${entry.id} (${entry.rows} rows) has lost its header and was left out`);
    return salvaged === undefined ? [] : [{ entry, header: salvaged.header }];
  });
}
