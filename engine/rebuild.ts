/** Rebuilds a partition whose tree or manifest is damaged from the values that are still whole, wherever they lie in the file. */
import { existsSync } from "node:fs";
import { link, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type ChunkHeader, parseHeader } from "./chunk.ts";
import { Failure } from "./failure.ts";
import { syncFolder } from "./folder.ts";
import { FrameKind, frameChecksum, openFrame } from "./frame.ts";
import { type ChunkEntry, emptyManifest, type Manifest, readManifest, writeManifest } from "./manifest.ts";
import { chunkKeys, headerKey } from "./partition.ts";
import { rebuildEnvironment, salvageFrames } from "./salvage.ts";

/** Reports what is lost; the damaged file stays beside the new one as `data.mdb.damaged`. */
export async function rebuildPartition(
  dir: string,
  day: number,
  report: (problem: string) => void,
): Promise<Manifest> {
  const known = await knownManifest(dir, day, report);
  const headers = salvageHeaders(join(dir, "data.mdb"));
  const found = chunksToSave(known.manifest, headers, known.isWhole, report);
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
  for (const id of lost) report(`chunk ${id} is damaged and was set aside`);
  report(
    `rebuilt: ${chunks.length} chunks with ${chunks.reduce((sum, { rows }) => sum + rows, 0)} rows could be read`,
  );
  // Rows that the journal still holds must not come in a second time.
  const arrivalSealed = Math.max(known.manifest.arrivalSealed, ...found.map(({ entry }) => entry.arrivalMax));
  const chunkNext = Math.max(known.manifest.chunkNext, ...found.map(({ entry }) => entry.id + 1));
  const version = known.manifest.version + 1;
  const manifest = { ...known.manifest, version, arrivalSealed, chunkNext, chunks };
  // A second name for the damaged file first: at every moment there is a data.mdb.
  const kept = join(dir, "data.mdb.damaged");
  if (!existsSync(kept)) await link(join(dir, "data.mdb"), kept);
  await rename(join(rebuilt, "data.mdb"), join(dir, "data.mdb"));
  await rm(rebuilt, { recursive: true, force: true });
  await syncFolder(dir);
  await writeManifest(dir, manifest);
  return manifest;
}

async function knownManifest(
  dir: string,
  day: number,
  report: (problem: string) => void,
): Promise<{ manifest: Manifest; isWhole: boolean }> {
  try {
    const { manifest } = await readManifest(dir);
    return { manifest: manifest ?? emptyManifest(day), isWhole: manifest !== undefined };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    report(
      "without its manifest, every chunk whose header is whole is taken; what was merged since may stand twice",
    );
    return { manifest: emptyManifest(day), isWhole: false };
  }
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

function chunksToSave(
  manifest: Manifest,
  headers: readonly SalvagedHeader[],
  isWhole: boolean,
  report: (problem: string) => void,
): { entry: ChunkEntry; header: ChunkHeader }[] {
  if (!isWhole) return headers.map((salvaged) => ({ entry: entryOf(salvaged), header: salvaged.header }));
  return manifest.chunks.flatMap((entry) => {
    const salvaged = headers.find(({ id, checksum }) => id === entry.id && checksum === entry.checksum);
    if (salvaged === undefined)
      report(`chunk ${entry.id} (${entry.rows} rows) has lost its header and was set aside`);
    return salvaged === undefined ? [] : [{ entry, header: salvaged.header }];
  });
}

function entryOf({ id, checksum, bytes, header }: SalvagedHeader): ChunkEntry {
  const { rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax } = header;
  return { id, rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax, bytes, checksum };
}
