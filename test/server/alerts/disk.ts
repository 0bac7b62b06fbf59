/** A state in memory that outlives its processes: one dies at any write, and whatever it still tries to do comes to nothing. */
import type { Json, State, StateChange } from "../../../engine/index.ts";
import { Failure } from "../../../engine/index.ts";
import { windowId } from "../../../server/alerts/query-group.ts";
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";

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

  /** By the id of the alert: end of the newest bucket whose evaluation is stored. */
  storedThroughMs(alerts: Iterable<AlertDefinition>): Map<string, number> {
    const windows = this.tables.get("alert-windows");
    const ends = Array.from(alerts, (alert): [string, number] => {
      const window = windows?.get(windowId(alert)) as { throughMs: number } | undefined;
      return [alert.metadata.id, window?.throughMs ?? Number.NEGATIVE_INFINITY];
    });
    return new Map(ends);
  }
}

/** What becomes of a write. `dies after`: it is on disk, and nobody hears of it. */
export type Fate = "refused" | "dies before" | "dies after";

const never = new Promise<never>(() => undefined);

export class Process implements State {
  readonly damage = [];
  readonly died: Promise<void>;
  isAlive = true;
  /** Of the write that comes after so many others; of the next one where there are none. */
  next: { fate: Fate; others: number } | null = null;
  readonly #disk: Disk;
  #tellDeath: () => void = () => undefined;

  constructor(disk: Disk) {
    this.#disk = disk;
    this.died = new Promise((resolve) => {
      this.#tellDeath = resolve;
    });
  }

  get(table: string, id: string): Json | undefined {
    return this.#disk.tables.get(table)?.get(id);
  }

  count(table: string): number {
    return this.#disk.tables.get(table)?.size ?? 0;
  }

  list(table: string): { id: string; value: Json }[] {
    const entries = [...(this.#disk.tables.get(table) ?? [])].map(([id, value]) => ({ id, value }));
    return entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    if (!this.isAlive) return never;
    const fate = this.#fate();
    if (this.#disk.isFull || fate === "refused") throw new Failure("disk-full", "the disk is full");
    if (fate !== "dies before") this.#disk.apply(changes);
    if (fate === null) return;
    this.kill();
    return never;
  }

  kill(): void {
    this.isAlive = false;
    this.#tellDeath();
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  #fate(): Fate | null {
    if (this.next === null || this.next.others-- > 0) return null;
    const { fate } = this.next;
    this.next = null;
    return fate;
  }
}
