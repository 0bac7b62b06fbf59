/** A state in memory whose process can die at any write: before it is on disk, or after it and before anybody hears of it. */
import type { Json, State, StateChange } from "../../../engine/index.ts";
import { Failure } from "../../../engine/index.ts";

export class MemoryState implements State {
  readonly damage = [];
  readonly tables = new Map<string, Map<string, Json>>();
  /** What becomes of the next write. */
  nextWrite: "stored" | "refused" | "dies before" | "dies after" = "stored";
  #die: () => void = () => undefined;
  died = new Promise<void>((resolve) => {
    this.#die = resolve;
  });

  get(table: string, id: string): Json | undefined {
    return this.tables.get(table)?.get(id);
  }

  list(table: string): [id: string, value: Json][] {
    return [...(this.tables.get(table) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async write(changes: readonly StateChange[]): Promise<void> {
    const fate = this.nextWrite;
    this.nextWrite = "stored";
    if (fate === "refused") throw new Failure("disk-full", "the disk is full");
    if (fate !== "dies before") for (const change of changes) this.#apply(change);
    if (fate === "stored") return;
    this.#die();
    await new Promise(() => undefined);
  }

  /** The next process. */
  restart(): void {
    this.nextWrite = "stored";
    this.died = new Promise<void>((resolve) => {
      this.#die = resolve;
    });
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  #apply({ table, id, value }: StateChange): void {
    const entries = this.tables.get(table) ?? new Map<string, Json>();
    this.tables.set(table, entries);
    if (value === undefined) entries.delete(id);
    else entries.set(id, structuredClone(value));
  }
}
