/**
 * Verification: reads every stored value and reports damage. It changes nothing; another process may have the store
 * open.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { ChunkEntry } from "../chunk/chunk-entry.ts";
import { Failure } from "../failure.ts";
import { checkFormat } from "../files/format-version.ts";
import { IdempotencyKeys } from "../journal/idempotency-keys.ts";
import { type LmdbEnvironment, openEnvironment } from "../lmdb/environment.ts";
import { auditPageTree } from "../lmdb/page-audit.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { dayName, listDays } from "../model/day.ts";
import { type Signal, signals } from "../model/signal.ts";
import { openChunk, readWholeChunk } from "../partition/chunk-store.ts";
import { readManifest } from "../partition/manifest.ts";
import { copyNames, loadCopy } from "../state/state-copy.ts";
import { scanUnsealedRows, UnsealedRows } from "./unsealed-rows.ts";

/** Progress of a verification: how much of all data files was read. */
export interface VerifyProgress {
  bytes: number;
  bytesTotal: number;
}

/** Result of a verification. */
export interface VerifyReport {
  chunks: number;
  /** Rows of the chunks, by their manifests. */
  rows: number;
  /** Rows that the journal alone holds. */
  unsealedRows: number;
  /** Length of the values that were read. */
  bytes: number;
  /** Empty where nothing is damaged or lost. `where` is relative to the data folder. */
  damage: DamageReport[];
}

/** A verification that is running. */
interface Verification {
  dir: string;
  report: VerifyReport;
  unsealed: UnsealedRows;
  advance: (bytes: number) => void;
}

/**
 * Verifies the store in the data folder `dir`: audits the page trees, compares every checksum, and scans the journal.
 * Damage is reported, not thrown. Throws Failure "folder" where `dir` is not a data folder of this format.
 */
export async function verifyStore(
  dir: string,
  onProgress: (progress: VerifyProgress) => void = () => undefined,
): Promise<VerifyReport> {
  await checkFormat(dir, { create: false });
  const report: VerifyReport = { chunks: 0, rows: 0, unsealedRows: 0, bytes: 0, damage: [] };
  const bytesTotal = listDataFiles(dir).reduce((sum, path) => sum + fileBytes(path), 0);
  const advance = (bytes: number) => {
    report.bytes += bytes;
    onProgress({ bytes: Math.min(report.bytes, bytesTotal), bytesTotal });
  };
  const { unsealed, damage } = await verifyJournal(dir);
  const verification = { dir, report, unsealed, advance };
  for (const signal of signals) {
    for (const day of listDays(join(dir, signal))) await verifyPartition(verification, signal, day);
  }
  await verifyState(verification, join(dir, "control"));
  report.damage.push(...damage);
  const journal = join(dir, "journal");
  if (report.chunks > 0 && !existsSync(journal))
    addDamage(verification, journal, "the folder is missing with the batches that it held");
  report.unsealedRows = unsealed.count();
  onProgress({ bytes: bytesTotal, bytesTotal });
  return report;
}

async function verifyPartition(verification: Verification, signal: Signal, day: number): Promise<void> {
  const dir = join(verification.dir, signal, dayName(day));
  try {
    // Checked before the manifest is read: the first seal writes the manifest before the data file.
    const hasData = existsSync(join(dir, "data.mdb"));
    const { manifest, problems } = await readManifest(dir);
    if (manifest !== undefined) verification.unsealed.seal(signal, day, manifest.arrivalSealed);
    if (manifest !== undefined && !hasData && manifest.chunks.length === 0) {
      for (const loss of manifest.losses ?? []) addDamage(verification, dir, loss);
      return;
    }
    // Where a store is running, retention may have removed the partition between the copies.
    if (existsSync(dir)) for (const problem of problems) addDamage(verification, dir, problem);
    if (manifest === undefined) {
      if (hasData) throw new Failure("damage", "the manifest is missing");
      return;
    }
    for (const loss of manifest.losses ?? []) addDamage(verification, dir, loss);
    const audit = auditPageTree(join(dir, "data.mdb"));
    for (const problem of audit.problems) addDamage(verification, join(dir, "data.mdb"), problem);
    const environment = openEnvironment(dir, { readOnly: true });
    try {
      for (const entry of manifest.chunks) await verifyChunk(verification, dir, environment, entry);
    } finally {
      environment.close();
    }
  } catch (error) {
    // Where a store is running, retention may remove the partition meanwhile.
    if (existsSync(dir)) addFailure(verification, dir, error);
  }
}

async function verifyChunk(
  verification: Verification,
  dir: string,
  environment: LmdbEnvironment,
  entry: ChunkEntry,
): Promise<void> {
  try {
    readWholeChunk(openChunk(environment, entry, dir));
  } catch (error) {
    const { manifest } = await readManifest(dir);
    const isStillThere = manifest?.chunks.some(
      ({ id, checksum }) => id === entry.id && checksum === entry.checksum,
    );
    // A running store may have merged the chunk: only a chunk that the manifest still names is damaged.
    if (isStillThere !== true) return;
    addFailure(verification, dir, error);
  }
  verification.report.chunks++;
  verification.report.rows += entry.rows;
  verification.advance(entry.bytes);
}

/** Verifies the copies of the state as a start would read them. Each must be there where another one is. */
async function verifyState(verification: Verification, dir: string): Promise<void> {
  const findDamage = async () => {
    const isThere = (name: string) => existsSync(join(dir, name, "data.mdb"));
    if (!copyNames.some(isThere)) return [];
    return copyNames.flatMap((name) => {
      const problems = isThere(name) ? loadCopy(dir, name).problems : ["the copy is missing"];
      return problems.map((problem) => ({ where: relative(verification.dir, join(dir, name)), problem }));
    });
  };
  // Meanwhile a running server may commit to a copy, and a starting one may replace it.
  verification.report.damage.push(...(await findPersistentDamage("control", findDamage)));
  for (const name of copyNames) verification.advance(fileBytes(join(dir, name, "data.mdb")));
}

/** Reads the journal: what only it holds, and what is damaged in it. */
async function verifyJournal(dir: string): Promise<{ unsealed: UnsealedRows; damage: DamageReport[] }> {
  let unsealed: UnsealedRows | undefined;
  const damage = await findPersistentDamage("journal", async () => {
    const { rows, damage } = await scanUnsealedRows(dir);
    unsealed ??= rows;
    const journal = join(dir, "journal");
    if (existsSync(journal))
      await new IdempotencyKeys(journal).load((where, problem) => damage.push({ where, problem }));
    return damage;
  });
  return { unsealed: unsealed ?? new UnsealedRows(), damage };
}

/**
 * Repeats a scan up to three times and returns the damage that every scan found: a running store writes to its journal
 * and removes segments, so that a single scan may find what is no damage.
 */
async function findPersistentDamage(
  where: "journal" | "control",
  scan: () => Promise<DamageReport[]>,
): Promise<DamageReport[]> {
  const reportUnread = (error: unknown) => reportUnreadFile(where, error);
  const retry = async (): Promise<DamageReport[]> => {
    await setTimeout(300);
    return scan().catch(reportUnread);
  };
  let found = await scan().catch(reportUnread);
  for (let again = 0; again < 2 && found.length > 0; again++) {
    const next = new Set((await retry()).map((report) => JSON.stringify(report)));
    found = found.filter((report) => next.has(JSON.stringify(report)));
  }
  return found;
}

function reportUnreadFile(where: string, error: unknown): DamageReport[] {
  if (error instanceof Failure) return [{ where, problem: error.message }];
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  return [{ where, problem: "a file went while it was read" }];
}

function addFailure(verification: Verification, where: string, error: unknown): void {
  if (!(error instanceof Failure)) throw error;
  addDamage(verification, where, error.message);
}

function addDamage({ dir, report }: Verification, where: string, problem: string): void {
  report.damage.push({ where: relative(dir, where), problem });
}

function listDataFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === "data.mdb")
    .map((entry) => join(entry.parentPath, entry.name));
}

function fileBytes(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}
