/** Reads every stored byte of a store and reports what is damaged. Read-only: another process may have the store open. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import type { ChunkSource } from "../chunk/chunk-header.ts";
import { Failure } from "../failure.ts";
import { checkFormat } from "../files/format-version.ts";
import { frameIsWhole } from "../files/frame.ts";
import { IdempotencyKeys } from "../journal/idempotency-keys.ts";
import { scanJournal } from "../journal/journal-reader.ts";
import { type Environment, openEnvironment } from "../lmdb/environment.ts";
import { auditPageTree } from "../lmdb/page-audit.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { dayName, daysIn } from "../model/day.ts";
import { signals } from "../model/signal.ts";
import { openChunk } from "../partition/chunk-store.ts";
import { readManifest } from "../partition/manifest.ts";

export interface VerifyProgress {
  bytes: number;
  bytesTotal: number;
}

export interface VerifyReport {
  chunks: number;
  rows: number;
  bytes: number;
  damage: DamageReport[];
}

interface Verification {
  dir: string;
  report: VerifyReport;
  advance: (bytes: number) => void;
}

/** Throws Failure "folder" where the folder holds no store of this format. */
export async function verifyStore(
  dir: string,
  onProgress: (progress: VerifyProgress) => void = () => undefined,
): Promise<VerifyReport> {
  await checkFormat(dir, { create: false });
  const report: VerifyReport = { chunks: 0, rows: 0, bytes: 0, damage: [] };
  const bytesTotal = filesUnder(dir).reduce((sum, path) => sum + sizeOf(path), 0);
  const advance = (bytes: number) => {
    report.bytes += bytes;
    onProgress({ bytes: Math.min(report.bytes, bytesTotal), bytesTotal });
  };
  const verification = { dir, report, advance };
  const folders = signals.map((signal) => join(dir, signal));
  for (const folder of folders) {
    for (const day of daysIn(folder)) await verifyPartition(verification, join(folder, dayName(day)));
  }
  const ofSignals = (path: string) => folders.some((folder) => path.startsWith(folder + sep));
  for (const path of filesUnder(dir)) {
    if (!ofSignals(path)) verifyState(verification, dirname(path));
  }
  report.damage.push(...(await lastingDamage(() => journalDamage(join(dir, "journal")))));
  onProgress({ bytes: bytesTotal, bytesTotal });
  return report;
}

async function verifyPartition(verification: Verification, dir: string): Promise<void> {
  try {
    // Looked for first: the first seal writes the manifest before the data file.
    const hasData = existsSync(join(dir, "data.mdb"));
    const { manifest, problems } = await readManifest(dir);
    for (const problem of problems) note(verification, dir, problem);
    if (manifest === undefined) {
      if (hasData) throw new Failure("damage", "the manifest is missing");
      return;
    }
    for (const loss of manifest.losses ?? []) note(verification, dir, loss);
    if (!hasData && manifest.chunks.length === 0) return;
    const audit = auditPageTree(join(dir, "data.mdb"));
    for (const problem of audit.problems) note(verification, join(dir, "data.mdb"), problem);
    const environment = openEnvironment(dir, { readOnly: true });
    try {
      for (const entry of manifest.chunks) await verifyChunk(verification, dir, environment, entry);
    } finally {
      environment.close();
    }
  } catch (error) {
    // Retention may remove the partition under a verification of a running store.
    if (existsSync(dir)) noteFailure(verification, dir, error);
  }
}

async function verifyChunk(
  verification: Verification,
  dir: string,
  environment: Environment,
  entry: ChunkEntry,
): Promise<void> {
  try {
    readWhole(openChunk(environment, entry, dir));
  } catch (error) {
    const { manifest } = await readManifest(dir);
    const isStillThere = manifest?.chunks.some(
      ({ id, checksum }) => id === entry.id && checksum === entry.checksum,
    );
    // A running store merges chunks away: only what the manifest still names can be missing.
    if (isStillThere !== true) return;
    noteFailure(verification, dir, error);
  }
  verification.report.chunks++;
  verification.report.rows += entry.rows;
  verification.advance(entry.bytes);
}

function readWhole(source: ChunkSource): void {
  for (let i = 0; i < source.header.columns.length; i++) {
    source.payload(i);
    source.filter(i);
  }
}

/** An environment of state: every value is a frame. */
function verifyState(verification: Verification, dir: string): void {
  try {
    for (const problem of auditPageTree(join(dir, "data.mdb")).problems) note(verification, dir, problem);
    const environment = openEnvironment(dir, { readOnly: true });
    for (const key of environment.keys()) {
      const value = environment.get(key);
      // Written over or removed by a running server since the keys were read.
      if (value === undefined) continue;
      verification.advance(value.byteLength);
      if (!frameIsWhole(value))
        note(verification, dir, `the value of ${JSON.stringify(Buffer.from(key).toString())} is damaged`);
    }
    void environment.close();
  } catch (error) {
    noteFailure(verification, dir, error);
  }
}

async function journalDamage(dir: string): Promise<DamageReport[]> {
  if (!existsSync(dir)) return [];
  const { damage } = await scanJournal(dir, () => undefined);
  await new IdempotencyKeys(dir).load((where, problem) => damage.push({ where, problem }));
  return damage;
}

/** A running store writes to its journal and removes segments: only what three looks find is damage. */
async function lastingDamage(look: () => Promise<DamageReport[]>): Promise<DamageReport[]> {
  const retry = async (): Promise<DamageReport[]> => {
    await setTimeout(300);
    return look().catch(goneMeanwhile);
  };
  let found = await look().catch(goneMeanwhile);
  for (let again = 0; again < 2 && found.length > 0; again++) {
    const next = new Set((await retry()).map((report) => JSON.stringify(report)));
    found = found.filter((report) => next.has(JSON.stringify(report)));
  }
  return found;
}

function goneMeanwhile(error: unknown): DamageReport[] {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  return [{ where: "journal", problem: "a file went while it was read" }];
}

function noteFailure(verification: Verification, where: string, error: unknown): void {
  if (!(error instanceof Failure)) throw error;
  note(verification, where, error.message);
}

function note({ dir, report }: Verification, where: string, problem: string): void {
  report.damage.push({ where: relative(dir, where), problem });
}

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === "data.mdb")
    .map((entry) => join(entry.parentPath, entry.name));
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}
