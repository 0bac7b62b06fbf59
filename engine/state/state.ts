/**
 * The control plane's store: tables of JSON values by id, tens of thousands of them, held in memory and written to two
 * copies of an LMDB environment. Writes that come while a commit is under way share the next one.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import type { DamageReport } from "../model/damage-report.ts";
import {
  copyNames,
  loadCopy,
  type MergedState,
  mergeCopies,
  replaceCopy,
  type StateCopy,
  storedValues,
  summarize,
} from "./state-copy.ts";
import {
  type EncodedRecord,
  encodeSummary,
  type Json,
  newRecord,
  recordKey,
  recordName,
  type StateSummary,
  type StoredRecord,
  summaryName,
} from "./state-record.ts";
import { StateWriter } from "./state-writer.ts";

export type { Json } from "./state-record.ts";

export interface StateChange {
  table: string;
  id: string;
  /** Undefined removes the entry. */
  value: Json | undefined;
}

type StateEntry = readonly [id: string, value: Json];

export interface State {
  /** What was found damaged since the state was opened, and what became of it. */
  readonly damage: readonly DamageReport[];
  /** The value as last committed, frozen. Throws Failure "damage" where it was lost. */
  get(table: string, id: string): Json | undefined;
  /** Ids in ascending order with their values; without those that were lost. The same list until the table changes. */
  list(table: string): readonly StateEntry[];
  /** How many `list` gives, without reading them. */
  count(table: string): number;
  /**
   * All changes or none; resolves when they are on disk and get sees them. Throws Failure "disk-full", and "input"
   * where an id has more than about a thousand bytes or is no valid Unicode.
   */
  write(changes: readonly StateChange[]): Promise<void>;
  /** Finishes the writes under way. */
  close(): Promise<void>;
}

/** The state of a data folder. */
export interface StoredState extends State {
  /** What is acknowledged at this moment. */
  snapshot(): StateSnapshot;
}

export interface StateSnapshot {
  /** Keys and frames of all records, the summary of a copy among them. */
  values(): Iterable<[key: Uint8Array, frame: Uint8Array]>;
  /** About what they take. */
  bytes: number;
}

/** Deletions that are kept as records, so that a damaged file does not bring the entries back, before they are dropped. */
const deletionsMax = 1_000;

/** Opens (creates) the state in `dir`. Damage is repaired from the other copy, and reported in `damage`. */
export async function openState(dir: string): Promise<StoredState> {
  mkdirSync(dir, { recursive: true });
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
    if (copy.sound && copy.commit === merged.commit && !dropped) continue;
    await repair(() => replaceCopy(dir, copy, merged), where, damage);
  }
  return new MirroredState(dir, merged, damage);
}

/** A full disk leaves the copy as it is; the other one serves. */
async function repair(replace: () => Promise<void>, where: string, damage: DamageReport[]): Promise<void> {
  try {
    await replace();
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "disk-full") throw error;
    damage.push({ where, problem: `it could not be made anew: ${error.message}` });
  }
}

function dropDeletions(records: Map<string, StoredRecord>): boolean {
  const deleted = [...records].filter(([, record]) => record.status === "deleted");
  if (deleted.length <= Math.max(deletionsMax, records.size - deleted.length)) return false;
  for (const [name] of deleted) records.delete(name);
  return true;
}

interface PendingChange extends Omit<StateChange, "value"> {
  /** JSON of the value as it was when the write was asked for. */
  text: string | undefined;
}

interface PendingWrite {
  changes: PendingChange[];
  resolve: () => void;
  reject: (reason: Error) => void;
}

class MirroredState implements StoredState {
  readonly damage: DamageReport[];
  readonly #dir: string;
  readonly #records: Map<string, StoredRecord>;
  readonly #tables = new Map<string, Map<string, StoredRecord>>();
  /** Of tables that were listed since they last changed. */
  readonly #lists = new Map<string, readonly StateEntry[]>();
  readonly #writer: StateWriter;
  #summary: StateSummary;
  #commit: number;
  #waiting: PendingWrite[] = [];
  /** The commit under way, and those that follow it at once. */
  #committing: Promise<void> | undefined;
  #closed = false;

  constructor(dir: string, { records, commit }: MergedState, damage: DamageReport[]) {
    this.#dir = dir;
    this.damage = damage;
    this.#records = records;
    this.#commit = commit;
    this.#summary = summarize(records);
    this.#writer = new StateWriter(copyNames.map((name) => join(dir, name)));
    for (const record of records.values()) this.#tableOf(record).set(record.id, record);
  }

  get(table: string, id: string): Json | undefined {
    const record = this.#tables.get(table)?.get(id);
    if (record?.status === "lost") {
      throw new Failure("damage", `${table} ${JSON.stringify(id)}: its stored value was damaged and is lost`);
    }
    return record?.status === "value" ? record.value : undefined;
  }

  list(table: string): readonly StateEntry[] {
    let list = this.#lists.get(table);
    if (list === undefined) {
      const records = [...(this.#tables.get(table)?.values() ?? [])].filter(
        ({ status }) => status === "value",
      );
      list = records.sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ id, value }) => [id, value]);
      this.#lists.set(table, list);
    }
    return list;
  }

  count(table: string): number {
    let count = 0;
    for (const { status } of this.#tables.get(table)?.values() ?? []) if (status === "value") count++;
    return count;
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    for (const { table, id } of changes) recordKey(table, id);
    const texts = changes.map(({ table, id, value }) => {
      return { table, id, text: value === undefined ? undefined : JSON.stringify(value) };
    });
    if (this.#closed) throw new Error(`${this.#dir} is closed`);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ changes: texts, resolve, reject });
      this.#committing ??= this.#commitWaiting();
    });
  }

  snapshot(): StateSnapshot {
    const records = new Map(this.#records);
    const commit = this.#commit;
    const file = join(this.#dir, copyNames[0], "data.mdb");
    const bytes = existsSync(file) ? statSync(file).size : 0;
    return { values: () => storedValues({ records, commit }), bytes };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#committing;
    await this.#writer.close();
  }

  #tableOf({ table }: { table: string }): Map<string, StoredRecord> {
    let records = this.#tables.get(table);
    if (records === undefined) {
      records = new Map();
      this.#tables.set(table, records);
    }
    return records;
  }

  async #commitWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const writes = this.#waiting;
      this.#waiting = [];
      try {
        await this.#commitAll(writes.flatMap((write) => write.changes));
        for (const { resolve } of writes) resolve();
      } catch (error) {
        for (const { reject } of writes) reject(error as Error);
      }
    }
    this.#committing = undefined;
  }

  async #commitAll(changes: readonly PendingChange[]): Promise<void> {
    const commit = this.#commit + 1;
    const values = new Map<string, EncodedRecord>();
    const changed = new Map<string, StoredRecord>();
    for (const { table, id, text } of changes) {
      const name = recordName(table, id);
      if (text === undefined && !this.#records.has(name) && !values.has(name)) continue;
      const status = text === undefined ? "deleted" : "value";
      const { encoded, stored } = newRecord({ table, id, commit, status }, text ?? "null");
      values.set(name, encoded);
      changed.set(name, stored);
    }
    if (values.size === 0) return;
    const summary = this.#summaryWith(changed);
    for (const problem of await this.#writer.write(values.set(summaryName, encodeSummary(summary, commit)))) {
      this.#note(problem);
    }
    this.#commit = commit;
    this.#summary = summary;
    for (const [name, record] of changed) {
      this.#records.set(name, record);
      this.#tableOf(record).set(record.id, record);
      this.#lists.delete(record.table);
    }
  }

  #summaryWith(changed: ReadonlyMap<string, StoredRecord>): StateSummary {
    const summary = { ...this.#summary };
    for (const [name, record] of changed) {
      const before = this.#records.get(name);
      summary.records += before === undefined ? 1 : 0;
      summary.checksums += record.checksum - (before?.checksum ?? 0);
    }
    return summary;
  }

  #note(problem: string): void {
    const where = this.#dir;
    if (!this.damage.some((known) => known.problem === problem)) this.damage.push({ where, problem });
  }
}
