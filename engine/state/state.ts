/**
 * The state is the control plane's store. Its tables map ids to JSON values, tens of thousands in all. All values are
 * in memory, and every write goes to two copies of an LMDB environment. Writes that arrive during a commit share the
 * next commit.
 */
import { existsSync, statSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Failure } from "../failure.ts";
import { makeFolder, syncFolder } from "../files/folder.ts";
import { fillEnvironment } from "../lmdb/environment.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { Turns } from "../threads/turns.ts";
import { areTooMany, dropDeletions, inTurns } from "./deletions.ts";
import {
  copyNames,
  encodeValues,
  loadCopy,
  type MergedState,
  mergeCopies,
  replaceCopy,
  type StateCopy,
  summarize,
} from "./state-copy.ts";
import {
  type EncodedRecord,
  encodeSummary,
  type Json,
  makeRecord,
  type StateSummary,
  type StoredRecord,
  summaryName,
  toRecordKey,
  toRecordName,
} from "./state-record.ts";
import { StateWriter } from "./state-writer.ts";

/** One change of a write: sets or removes the entry `id` of a table. */
export interface StateChange {
  table: string;
  id: string;
  /** Undefined removes the entry. */
  value: Json | undefined;
}

interface StateEntry {
  readonly id: string;
  /** Frozen. Parsed when it is first read. */
  readonly value: Json;
}

/** Tables of JSON values by id. Reads come from memory; writes are durable when they resolve. */
export interface State {
  /** Damage found at open and since then. */
  readonly damage: readonly DamageReport[];
  /** The value as last committed, frozen. Throws Failure "damage" where it was lost. */
  get(table: string, id: string): Json | undefined;
  /**
   * The entries of a table in ascending order of their ids, without those that were lost. Returns the same list object
   * until the table changes.
   */
  list(table: string): readonly StateEntry[];
  /** The number of entries that `list` returns. */
  count(table: string): number;
  /**
   * Applies all changes or none. When it resolves, they are on disk and visible to `get`. Throws Failure "input" where
   * table and id together have more than 1,023 bytes or the id is not valid Unicode, "disk-full", "damage" or "overload" where
   * neither copy took the changes, and "folder" where the data folder was removed, replaced or opened by another process.
   */
  write(changes: readonly StateChange[]): Promise<void>;
  /** Waits for pending writes, then closes both copies. Later writes are refused. */
  close(): Promise<void>;
}

/** The state of a data folder, which a backup can include. */
export interface StoredState extends State {
  /** Returns the acknowledged entries as they are now. */
  snapshot(): StateSnapshot;
}

export interface StateSnapshot {
  /** Keys and frames of all records and of the summary: the content of a copy. */
  values(): Iterable<[key: Uint8Array, frame: Uint8Array]>;
  /** Approximate size of these values in bytes: the length of the first copy's data file. */
  bytes: number;
}

/**
 * Changes of one commit, unless a single write has more. The calling thread checks and copies each of them in one turn,
 * some 30 µs a change.
 */
const commitChangesMax = 256;

/** Changes of a table up to which its sorted list is changed in place of being sorted anew. */
const patchedMax = 16;

/** A sorted list of entries after these records were written. */
function patchList(list: readonly StateEntry[], records: readonly StoredRecord[]): readonly StateEntry[] {
  const patched = [...list];
  for (const record of records) {
    const at = findPlace(patched, record.id);
    const known = patched[at]?.id === record.id ? 1 : 0;
    if (record.status === "value") patched.splice(at, known, record);
    else patched.splice(at, known);
  }
  return patched;
}

/** Index of the first entry whose id is not less. */
function findPlace(list: readonly StateEntry[], id: string): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (list[middle]!.id < id) from = middle + 1;
    else to = middle;
  }
  return from;
}

export interface StateOptions {
  /** Throws Failure "folder" where the data folder is no longer this process's: then no write is acknowledged. */
  checkFolder?: () => void;
}

/**
 * Opens the state in `dir`, and creates it where it is missing. A damaged copy is rebuilt from the other one; `damage`
 * reports what was found and what is lost.
 */
export async function openState(
  dir: string,
  { checkFolder = () => undefined }: StateOptions = {},
): Promise<StoredState> {
  if (!existsSync(dir)) await createCopies(dir);
  const copies: StateCopy[] = [];
  for (const name of copyNames) copies.push(loadCopy(dir, name, copies[0]));
  const damage: DamageReport[] = [];
  const isNew = copies.every((copy) => !copy.exists);
  const merged = isNew ? { records: new Map(), commit: 0, losses: [] } : mergeCopies(copies);
  for (const problem of merged.losses) damage.push({ where: dir, problem });
  const dropped = merged.losses.length === 0 && dropDeletions(merged.records);
  for (const copy of copies) {
    const where = join(dir, copy.name);
    for (const problem of copy.problems) damage.push({ where, problem });
    if (!copy.exists && !isNew) damage.push({ where, problem: "the copy is missing" });
    if (copy.isIntact && copy.commit === merged.commit && !dropped) continue;
    try {
      await replaceCopy(dir, copy, merged);
      copy.isIntact = true;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "disk-full") throw error;
      damage.push({ where, problem: `it could not be made anew: ${error.message}` });
    }
  }
  const audited = copies.map(({ name, isIntact }) => ({ dir: join(dir, name), isAudited: isIntact }));
  return new MirroredState(dir, merged, { damage, checkFolder, writer: new StateWriter(audited) });
}

/**
 * Creates the folder with empty copies under another name, and renames it: a process that is killed meanwhile leaves
 * both copies or none.
 */
async function createCopies(dir: string): Promise<void> {
  const unfinished = `${dir}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await makeFolder(unfinished);
  for (const name of copyNames) await fillEnvironment(join(unfinished, name), encodeValues([], 0));
  await syncFolder(unfinished);
  await rename(unfinished, dir);
  await syncFolder(dirname(dir));
}

interface PendingChange extends Omit<StateChange, "value"> {
  /** JSON of the value at the time of the call; undefined removes the entry. */
  json: string | undefined;
}

interface PendingWrite {
  changes: PendingChange[];
  resolve: () => void;
  reject: (reason: Error) => void;
}

interface MirrorOptions {
  damage: DamageReport[];
  checkFolder: () => void;
  writer: StateWriter;
}

/** The state in memory, mirrored in two copies on disk. */
class MirroredState implements StoredState {
  readonly damage: DamageReport[];
  readonly #dir: string;
  readonly #records: Map<string, StoredRecord>;
  readonly #tables = new Map<string, Map<string, StoredRecord>>();
  /** Results of `list` for tables that have not changed since. */
  readonly #lists = new Map<string, readonly StateEntry[]>();
  readonly #writer: StateWriter;
  readonly #checkFolder: () => void;
  #summary: StateSummary;
  /** Records of deletions. */
  #deletions = 0;
  /** Deletions at which they could not be dropped, as on a full disk: the next try is at twice as many. */
  #deletionsKept = 0;
  #commit: number;
  #pendingWrites: PendingWrite[] = [];
  /**
   * Resolves when no write is pending: after the running commit and the commits of writes that arrive during it.
   * Undefined while no commit is running.
   */
  #committing: Promise<void> | undefined;
  #closed = false;

  constructor(dir: string, { records, commit }: MergedState, { damage, checkFolder, writer }: MirrorOptions) {
    this.#dir = dir;
    this.#checkFolder = checkFolder;
    this.#writer = writer;
    this.damage = damage;
    this.#records = records;
    this.#commit = commit;
    this.#summary = summarize([...records.values()]);
    for (const record of records.values()) {
      this.#openTable(record).set(record.id, record);
      if (record.status === "deleted") this.#deletions++;
    }
  }

  get(table: string, id: string): Json | undefined {
    const record = this.#tables.get(table)?.get(id);
    if (record?.status === "lost") {
      throw new Failure("damage", `${table} ${JSON.stringify(id)}: its stored value was damaged and is lost`);
    }
    return record?.status === "value" ? record.value : undefined;
  }

  list(table: string): readonly StateEntry[] {
    const known = this.#lists.get(table);
    if (known !== undefined) return known;
    const records = [...(this.#tables.get(table)?.values() ?? [])];
    const list = records.filter(({ status }) => status === "value").sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#lists.set(table, list);
    return list;
  }

  count(table: string): number {
    return this.list(table).length;
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    for (const { table, id } of changes) toRecordKey(table, id);
    if (this.#closed) throw new Error(`${this.#dir} is closed`);
    const pendingChanges = changes.map(({ table, id, value }) => {
      return { table, id, json: value === undefined ? undefined : JSON.stringify(value) };
    });
    await new Promise<void>((resolve, reject) => {
      this.#pendingWrites.push({ changes: pendingChanges, resolve, reject });
      this.#committing ??= this.#commitWaiting();
    });
  }

  snapshot(): StateSnapshot {
    const records = [...this.#records.values()];
    const commit = this.#commit;
    const file = join(this.#dir, copyNames[0], "data.mdb");
    const bytes = existsSync(file) ? statSync(file).size : 0;
    return { values: () => encodeValues(records, commit), bytes };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#committing;
    await this.#writer.close();
  }

  #openTable({ table }: { table: string }): Map<string, StoredRecord> {
    const records = this.#tables.get(table) ?? new Map<string, StoredRecord>();
    this.#tables.set(table, records);
    return records;
  }

  async #commitWaiting(): Promise<void> {
    const turns = new Turns();
    while (this.#pendingWrites.length > 0) {
      // Those whose writes were committed have gone on in this turn.
      if (turns.isOver) await turns.next();
      const writes = this.#takeWrites();
      try {
        await this.#commitAll(writes.flatMap((write) => write.changes));
        for (const { resolve } of writes) resolve();
      } catch (error) {
        for (const { reject } of writes) reject(error as Error);
      }
      await this.#dropDeletions();
    }
    this.#committing = undefined;
  }

  /** Takes the writes of the next commit from those that wait: at least one. */
  #takeWrites(): PendingWrite[] {
    let changes = 0;
    const end = this.#pendingWrites.findIndex((write, i) => {
      changes += write.changes.length;
      return i > 0 && changes > commitChangesMax;
    });
    return this.#pendingWrites.splice(0, end < 0 ? this.#pendingWrites.length : end);
  }

  async #commitAll(changes: readonly PendingChange[]): Promise<void> {
    const commit = this.#commit + 1;
    const values = new Map<string, EncodedRecord>();
    const changed = new Map<string, StoredRecord>();
    const turns = new Turns();
    for (const { table, id, json } of changes) {
      if (turns.isOver) await turns.next();
      const name = toRecordName(table, id);
      if (json === undefined && !this.#records.has(name) && !values.has(name)) continue;
      const status = json === undefined ? "deleted" : "value";
      const { encoded, stored } = makeRecord({ table, id, commit, status }, json ?? "null");
      values.set(name, encoded);
      changed.set(name, stored);
    }
    if (values.size === 0) return;
    const summary = this.#summaryWith(changed);
    this.#checkFolder();
    for (const problem of await this.#writer.write(values.set(summaryName, encodeSummary(summary, commit)))) {
      this.#addDamage(problem);
    }
    this.#checkFolder();
    this.#commit = commit;
    this.#summary = summary;
    for (const [name, record] of changed) {
      if (this.#records.get(name)?.status === "deleted") this.#deletions--;
      if (record.status === "deleted") this.#deletions++;
      this.#records.set(name, record);
      this.#openTable(record).set(record.id, record);
    }
    for (const [table, records] of Map.groupBy(changed.values(), (record) => record.table)) {
      const list = this.#lists.get(table);
      if (list === undefined) continue;
      if (records.length > patchedMax) this.#lists.delete(table);
      else this.#lists.set(table, patchList(list, records));
    }
  }

  /**
   * Drops the records of deletions where they are too many, or a state whose entries come and go would grow for ever. Both
   * copies are written anew, as a commit of its own: where one of them is not replaced, it counts as older. Never
   * rejects: without it the deletions stay.
   */
  async #dropDeletions(): Promise<void> {
    if (!areTooMany(this.#deletions, this.#records.size) || this.#deletions < 2 * this.#deletionsKept) return;
    const kept = [...this.#records].filter(([, { status }]) => status !== "deleted");
    const records = kept.map(([, record]) => record);
    const commit = this.#commit + 1;
    try {
      this.#checkFolder();
      await this.#writer.replace(() => inTurns(encodeValues(records, commit)));
    } catch {
      // A write that follows says what is wrong with the disk or the folder.
      this.#deletionsKept = this.#deletions;
      return;
    }
    for (const [name, { table, id, status }] of [...this.#records]) {
      if (status !== "deleted") continue;
      this.#records.delete(name);
      this.#tables.get(table)?.delete(id);
    }
    this.#commit = commit;
    this.#summary = summarize(records);
    this.#deletions = 0;
    this.#deletionsKept = 0;
  }

  /** Computes the summary as it is after these changes. */
  #summaryWith(changed: ReadonlyMap<string, StoredRecord>): StateSummary {
    const summary = { ...this.#summary };
    for (const [name, record] of changed) {
      const before = this.#records.get(name);
      summary.records += before === undefined ? 1 : 0;
      summary.checksums += record.checksum - (before?.checksum ?? 0);
    }
    return summary;
  }

  #addDamage(problem: string): void {
    const where = this.#dir;
    if (!this.damage.some((known) => known.problem === problem)) this.damage.push({ where, problem });
  }
}
