/**
 * The two stored copies of the state, each an LMDB environment that receives every commit. Each copy holds a summary of
 * itself: it shows whether the copy has lost a record or fallen back to an older commit. Such a copy is rebuilt from
 * the other.
 */
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../files/folder.ts";
import { isIntactFrame, readFrameChecksum } from "../files/frame.ts";
import { DataFile } from "../lmdb/data-file.ts";
import { fillEnvironment } from "../lmdb/environment.ts";
import { auditDataFile, type PageTreeEntry, reportUnreadable } from "../lmdb/page-audit.ts";
import { salvageFrames } from "../lmdb/salvage.ts";
import {
  decodeRecord,
  encodeSummary,
  makeRecord,
  nameOfKey,
  type StateSummary,
  type StoredRecord,
  summaryName,
} from "./state-record.ts";

export const copyNames = ["a", "b"] as const;

export interface StateCopy {
  name: string;
  exists: boolean;
  /** True where it holds exactly what its newest commit left. */
  isIntact: boolean;
  /** Number of the newest commit of which a record was found. */
  commit: number;
  /** By record name: the newest record of each. */
  records: Map<string, StoredRecord>;
  /** Names that the page tree led to: this copy had no newer record of them than the one found. */
  found: Set<string>;
  /** Names for which the page tree led to a damaged value. */
  damaged: Set<string>;
  /** What its newest summary says it should hold. */
  summary: StateSummary | undefined;
  problems: string[];
}

/** The records of one commit. */
interface CommittedRecords {
  records: Map<string, StoredRecord>;
  commit: number;
}

/** The state as both copies together give it. */
export interface MergedState extends CommittedRecords {
  /** What may be lost or out of date, in sentences; empty where one copy was intact. */
  losses: string[];
}

/**
 * Reads one copy. `reference` is the other copy, if it was read before: where both hold the same bytes, its decoded
 * records are reused.
 */
export function loadCopy(dir: string, name: string, reference?: StateCopy): StateCopy {
  const copy: StateCopy = {
    name,
    exists: existsSync(join(dir, name)),
    isIntact: false,
    commit: 0,
    records: new Map(),
    found: new Set(),
    damaged: new Set(),
    summary: undefined,
    problems: [],
  };
  if (!copy.exists) return copy;
  const file = join(dir, name, "data.mdb");
  // Copies with the same commits are equal byte by byte, and comparing bytes is much faster than decoding records.
  if (reference?.isIntact && haveSameBytes(file, join(dir, reference.name, "data.mdb")))
    return { ...reference, name };
  if (!readPageTree(copy, file, reference)) {
    for (const { frame } of salvageFrames(file)) addRecord(copy, decodeRecord(frame));
  }
  checkSummary(copy);
  return copy;
}

/** Returns whether two files are equal; false also where one of them cannot be read. */
function haveSameBytes(...paths: [string, string]): boolean {
  const files: number[] = [];
  try {
    for (const path of paths) files.push(openSync(path, "r"));
    const [one, other] = paths.map(() => Buffer.allocUnsafe(2 ** 20)) as [Buffer, Buffer];
    for (let at = 0; ; ) {
      const [bytes, otherBytes] = files.map((file, i) => readSync(file, [one, other][i]!, { position: at }));
      if (bytes !== otherBytes || !one.subarray(0, bytes).equals(other.subarray(0, bytes))) return false;
      if (bytes === 0) return true;
      at += bytes!;
    }
  } catch {
    return false;
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** Reads the records that the page tree leads to. Returns whether the tree passed its audit. */
function readPageTree(copy: StateCopy, path: string, reference: StateCopy | undefined): boolean {
  let dataFile: DataFile;
  try {
    // The whole file is read at once, because its entries are many and small.
    dataFile = new DataFile(path, { inMemory: true });
  } catch (error) {
    copy.problems.push(...reportUnreadable(error).problems);
    return false;
  }
  try {
    const { ok, problems, entries } = auditDataFile(dataFile);
    copy.problems.push(...problems);
    addEntries(copy, dataFile, entries, reference?.records);
    return ok;
  } finally {
    dataFile.close();
  }
}

function addEntries(
  copy: StateCopy,
  dataFile: DataFile,
  entries: readonly PageTreeEntry[],
  reference: ReadonlyMap<string, StoredRecord> | undefined,
): void {
  const misplaced: { name: string; of: string }[] = [];
  for (const entry of entries) {
    const name = nameOfKey(entry.key);
    const frame = dataFile.read(entry);
    const known = name === undefined ? undefined : reference?.get(name);
    const isKnown =
      known !== undefined && readFrameChecksum(frame) === known.checksum && isIntactFrame(frame);
    const of = addRecord(copy, isKnown ? known : decodeRecord(frame));
    if (name === undefined || of === undefined) copy.damaged.add(name ?? "");
    else if (name === of) copy.found.add(name);
    else misplaced.push({ name, of });
  }
  for (const { name, of } of misplaced) {
    copy.problems.push(`the value of ${toDisplayName(of)} stands under ${toDisplayName(name)}`);
    // Where the record is also found under its own name, the damaged path is that to the other name's value. Otherwise
    // its own key is damaged.
    if (copy.found.has(of)) copy.damaged.add(name);
  }
}

/** Adds a record unless a newer one of its name is known. Returns its name. */
function addRecord(copy: StateCopy, record: StoredRecord | undefined): string | undefined {
  if (record === undefined) return undefined;
  const name = `${record.table}\0${record.id}`;
  const known = copy.records.get(name);
  if (known === undefined || known.commit < record.commit) copy.records.set(name, record);
  copy.commit = Math.max(copy.commit, record.commit);
  return name;
}

/** Sets `isIntact`: whether the copy has no damage and agrees with its own summary. */
function checkSummary(copy: StateCopy): void {
  const summary = copy.records.get(summaryName);
  copy.records.delete(summaryName);
  copy.summary = summary?.value as StateSummary | undefined;
  for (const name of copy.damaged) copy.problems.push(`the value of ${toDisplayName(name)} is not whole`);
  if (copy.problems.length > 0) return;
  const { records, checksums } = summarize([...copy.records.values()]);
  copy.isIntact =
    copy.summary !== undefined &&
    summary?.commit === copy.commit &&
    copy.summary.records === records &&
    copy.summary.checksums === checksums;
  if (!copy.isIntact) copy.problems.push("it does not hold what its last commit left");
}

/** The summary of a copy with these records. */
export function summarize(records: readonly StoredRecord[]): StateSummary {
  let checksums = 0;
  for (const { checksum } of records) checksums += checksum;
  return { records: records.length, checksums };
}

/** Takes an intact copy of the newest commit, or else the newest record of each name from all copies. */
export function mergeCopies(copies: readonly StateCopy[]): MergedState {
  const commit = Math.max(...copies.map((copy) => copy.commit));
  const isIntact = copies.find((copy) => copy.isIntact && copy.commit === commit);
  if (isIntact !== undefined) return { records: isIntact.records, commit, losses: [] };
  const records = new Map<string, StoredRecord>();
  for (const copy of copies) {
    for (const [name, record] of copy.records) {
      if ((records.get(name)?.commit ?? -1) < record.commit) records.set(name, record);
    }
  }
  const losses = markLostRecords(copies, { records, commit });
  const expected = Math.max(...copies.map((copy) => copy.summary?.records ?? 0));
  const missing = expected - records.size;
  losses.push(
    `neither copy is sound; ${missing > 0 ? `${missing} entries are missing` : "entries may be old"}`,
  );
  return { records, commit, losses };
}

/**
 * Records as lost every name whose value is damaged, unless the page tree of another copy led to it: an older record,
 * found by salvage, must not replace the damaged one. Returns a sentence for each.
 */
function markLostRecords(copies: readonly StateCopy[], { records, commit }: CommittedRecords): string[] {
  const losses: string[] = [];
  for (const name of new Set(copies.flatMap((copy) => [...copy.damaged]))) {
    if (name === summaryName || copies.some((copy) => copy.found.has(name))) continue;
    const [table, id] = [name.slice(0, name.indexOf("\0")), name.slice(name.indexOf("\0") + 1)];
    records.set(name, makeRecord({ table, id, commit, status: "lost" }, "null").stored);
    losses.push(`${toDisplayName(name)} is lost`);
  }
  return losses;
}

/**
 * Replaces a copy by a new one with these records. A damaged copy is kept beside it; only the most recent one is kept.
 */
export async function replaceCopy(dir: string, copy: StateCopy, state: MergedState): Promise<void> {
  const path = join(dir, copy.name);
  rmSync(`${path}.new`, { recursive: true, force: true });
  await fillEnvironment(`${path}.new`, encodeValues([...state.records.values()], state.commit));
  if (copy.exists) {
    rmSync(`${path}.damaged`, { recursive: true, force: true });
    if (copy.isIntact) rmSync(path, { recursive: true });
    else renameSync(path, `${path}.damaged`);
  }
  renameSync(`${path}.new`, path);
  await syncFolder(dir);
}

/** Keys and frames of a copy with these records: the records and its summary. */
export function* encodeValues(
  records: readonly StoredRecord[],
  commit: number,
): Iterable<[Uint8Array, Uint8Array]> {
  for (const record of records) {
    const { key, frame } = record.encode();
    yield [key, frame];
  }
  const { key, frame } = encodeSummary(summarize(records), commit);
  yield [key, frame];
}

/** A record's name as messages show it. */
function toDisplayName(name: string): string {
  return name.replace("\0", "/");
}
