/**
 * The state is stored twice, in two LMDB environments that take every commit. Each holds a summary of itself, so that a
 * copy which lost an entry or fell back to an older commit is known, and is made anew from the other.
 */
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../files/folder.ts";
import { frameChecksum, frameIsWhole } from "../files/frame.ts";
import { DataFile } from "../lmdb/data-file.ts";
import { fillEnvironment } from "../lmdb/environment.ts";
import { auditDataFile, type PageTreeEntry, reportUnreadable } from "../lmdb/page-audit.ts";
import { salvageFrames } from "../lmdb/salvage.ts";
import {
  decodeRecord,
  encodeRecord,
  encodeSummary,
  nameOfKey,
  type StateSummary,
  type StoredRecord,
  summaryName,
} from "./state-record.ts";

export const copyNames = ["a", "b"] as const;

export interface StateCopy {
  name: string;
  exists: boolean;
  /** Whether it holds exactly what its newest commit left. */
  sound: boolean;
  /** The newest commit of which anything was found. */
  commit: number;
  records: Map<string, StoredRecord>;
  /** Names that the trees led to, so no newer record of them existed in this copy. */
  reached: Set<string>;
  /** Names of which the trees led to a value that is not whole. */
  damaged: Set<string>;
  /** What its newest summary says it should hold. */
  summary: StateSummary | undefined;
  problems: string[];
}

/** What both copies together tell. */
export interface MergedState {
  records: Map<string, StoredRecord>;
  commit: number;
  /** What may be lost or old; empty where one copy was sound. */
  losses: string[];
}

/** `like`: another copy, whose records stand for the same ones here. */
export function loadCopy(dir: string, name: string, like?: StateCopy): StateCopy {
  const copy: StateCopy = {
    name,
    exists: existsSync(join(dir, name)),
    sound: false,
    commit: 0,
    records: new Map(),
    reached: new Set(),
    damaged: new Set(),
    summary: undefined,
    problems: [],
  };
  if (!copy.exists) return copy;
  const file = join(dir, name, "data.mdb");
  // Copies that took the same commits are the same byte for byte, which is far sooner seen than what is in them.
  if (like?.sound && holdSameBytes(file, join(dir, like.name, "data.mdb"))) return { ...like, name };
  if (!readTree(copy, file, like)) {
    for (const { frame } of salvageFrames(file)) take(copy, decodeRecord(frame));
  }
  judge(copy);
  return copy;
}

/** False where one of the files cannot be read, too. */
function holdSameBytes(...paths: [string, string]): boolean {
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

/** Takes what the trees lead to; says whether they are sound. */
function readTree(copy: StateCopy, path: string, like: StateCopy | undefined): boolean {
  let tree: DataFile;
  try {
    // One read for all: entries are small and many.
    tree = new DataFile(path, { inMemory: true });
  } catch (error) {
    copy.problems.push(...reportUnreadable(error).problems);
    return false;
  }
  try {
    const { ok, problems, entries } = auditDataFile(tree);
    copy.problems.push(...problems);
    readReached(copy, tree, entries, like?.records);
    return ok;
  } finally {
    tree.close();
  }
}

function readReached(
  copy: StateCopy,
  tree: DataFile,
  entries: readonly PageTreeEntry[],
  like: ReadonlyMap<string, StoredRecord> | undefined,
): void {
  const displaced: { name: string; of: string }[] = [];
  for (const entry of entries) {
    const name = nameOfKey(entry.key);
    const frame = tree.read(entry);
    const known = name === undefined ? undefined : like?.get(name);
    const isKnown = known !== undefined && frameChecksum(frame) === known.checksum && frameIsWhole(frame);
    const of = take(copy, isKnown ? known : decodeRecord(frame));
    if (name === undefined || of === undefined) copy.damaged.add(name ?? "");
    else if (name === of) copy.reached.add(name);
    else displaced.push({ name, of });
  }
  for (const { name, of } of displaced) {
    copy.problems.push(`the value of ${shown(of)} stands under ${shown(name)}`);
    // Where it stands in its own place too, the path to the other one's value was bent; else its key was.
    if (copy.reached.has(of)) copy.damaged.add(name);
  }
}

/** Keeps a record unless a newer one is known; its name. */
function take(copy: StateCopy, record: StoredRecord | undefined): string | undefined {
  if (record === undefined) return undefined;
  const name = `${record.table}\0${record.id}`;
  const known = copy.records.get(name);
  if (known === undefined || known.commit < record.commit) copy.records.set(name, record);
  copy.commit = Math.max(copy.commit, record.commit);
  return name;
}

function judge(copy: StateCopy): void {
  const summary = copy.records.get(summaryName);
  copy.records.delete(summaryName);
  copy.summary = summary?.value as StateSummary | undefined;
  for (const name of copy.damaged) copy.problems.push(`the value of ${shown(name)} is not whole`);
  if (copy.problems.length > 0) return;
  const { records, checksums } = summarize(copy.records);
  copy.sound =
    copy.summary !== undefined &&
    summary?.commit === copy.commit &&
    copy.summary.records === records &&
    copy.summary.checksums === checksums;
  if (!copy.sound) copy.problems.push("it does not hold what its last commit left");
}

export function summarize(records: ReadonlyMap<string, StoredRecord>): StateSummary {
  let checksums = 0;
  for (const { checksum } of records.values()) checksums += checksum;
  return { records: records.size, checksums };
}

export function mergeCopies(copies: readonly StateCopy[]): MergedState {
  const commit = Math.max(...copies.map((copy) => copy.commit));
  const sound = copies.find((copy) => copy.sound && copy.commit === commit);
  if (sound !== undefined) return { records: sound.records, commit, losses: [] };
  const records = new Map<string, StoredRecord>();
  for (const copy of copies) {
    for (const [name, record] of copy.records) {
      if ((records.get(name)?.commit ?? -1) < record.commit) records.set(name, record);
    }
  }
  const losses = markLost(copies, records, commit);
  const expected = Math.max(...copies.map((copy) => copy.summary?.records ?? 0));
  const missing = expected - records.size;
  losses.push(
    `neither copy is sound; ${missing > 0 ? `${missing} entries are missing` : "entries may be old"}`,
  );
  return { records, commit, losses };
}

/** A damaged value must not be answered by an older one: another copy's counts only where its trees led to it. */
function markLost(
  copies: readonly StateCopy[],
  records: Map<string, StoredRecord>,
  commit: number,
): string[] {
  const losses: string[] = [];
  for (const name of new Set(copies.flatMap((copy) => [...copy.damaged]))) {
    if (name === summaryName || copies.some((copy) => copy.reached.has(name))) continue;
    const [table, id] = [name.slice(0, name.indexOf("\0")), name.slice(name.indexOf("\0") + 1)];
    const lost = { table, id, commit, status: "lost", value: null } as const;
    records.set(name, { ...lost, checksum: encodeRecord(lost).frame.readUInt32LE(4) });
    losses.push(`${shown(name)} is lost`);
  }
  return losses;
}

/** Makes a copy of the records, in place of what stood there; a damaged one is kept beside it, the last alone. */
export async function replaceCopy(dir: string, copy: StateCopy, state: MergedState): Promise<void> {
  const path = join(dir, copy.name);
  rmSync(`${path}.new`, { recursive: true, force: true });
  await fillEnvironment(`${path}.new`, storedValues(state));
  if (copy.exists) {
    rmSync(`${path}.damaged`, { recursive: true, force: true });
    if (copy.sound) rmSync(path, { recursive: true });
    else renameSync(path, `${path}.damaged`);
  }
  renameSync(`${path}.new`, path);
  await syncFolder(dir);
}

/** What a copy of the records is made of. */
export function* storedValues({
  records,
  commit,
}: Pick<MergedState, "records" | "commit">): Iterable<[Uint8Array, Uint8Array]> {
  for (const record of records.values()) {
    const { key, frame } = encodeRecord(record);
    yield [key, frame];
  }
  const { key, frame } = encodeSummary(summarize(records), commit);
  yield [key, frame];
}

function shown(name: string): string {
  return name.replace("\0", "/");
}
