/** A state that outlives its processes: a process dies at any write, and whatever it still tries to do comes to nothing. */
import type { Json, State, StateChange } from "../../../../engine/index.ts";
import { Failure } from "../../../../engine/index.ts";

export class Disk {
  readonly tables = new Map<string, Map<string, Json>>();
  isFull = false;

  open(): Process {
    return new Process(this);
  }

  apply(changes: readonly StateChange[]): void {
    for (const { table, id, value } of changes) {
      const entries = this.tables.get(table) ?? new Map<string, Json>();
      this.tables.set(table, entries);
      if (value === undefined) entries.delete(id);
      else entries.set(id, structuredClone(value));
    }
  }
}

const never = new Promise<never>(() => undefined);

export class Process implements State {
  readonly damage = [];
  readonly #disk: Disk;
  isAlive = true;
  /** Dies in the write after so many others. */
  dies: { writes: number; stored: boolean } | null = null;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  get(table: string, id: string): Json | undefined {
    return this.#disk.tables.get(table)?.get(id);
  }

  list(table: string): [id: string, value: Json][] {
    return [...(this.#disk.tables.get(table) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    if (!this.isAlive) return never;
    if (this.#disk.isFull) throw new Failure("disk-full", "the disk is full");
    if (this.dies !== null && --this.dies.writes <= 0) {
      if (this.dies.stored) this.#disk.apply(changes);
      this.isAlive = false;
      return never;
    }
    this.#disk.apply(changes);
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }
}
