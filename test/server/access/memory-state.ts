/** A control-plane state in memory alone, which can be set back: for tests with very many worlds. */

import type { Json, State, StateChange } from "../../../engine/index.ts";

type Tables = Map<string, Map<string, Json>>;

export class MemoryState implements State {
  readonly damage = [];
  #tables: Tables = new Map();
  readonly #lists = new Map<string, { id: string; value: Json }[]>();

  get(table: string, id: string): Json | undefined {
    return this.#tables.get(table)?.get(id);
  }

  list(table: string): readonly { id: string; value: Json }[] {
    const known = this.#lists.get(table);
    if (known !== undefined) return known;
    const entries = [...(this.#tables.get(table) ?? [])].map(([id, value]) => ({ id, value }));
    entries.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#lists.set(table, entries);
    return entries;
  }

  count(table: string): number {
    return this.list(table).length;
  }

  write(changes: readonly StateChange[]): Promise<void> {
    for (const { table, id, value } of changes) {
      this.#lists.delete(table);
      const entries = this.#tables.get(table) ?? new Map<string, Json>();
      this.#tables.set(table, entries);
      if (value === undefined) entries.delete(id);
      else entries.set(id, value);
    }
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns a function that sets the state back to what it is now. */
  mark(): () => void {
    const marked = copyOf(this.#tables);
    return () => {
      this.#tables = copyOf(marked);
      this.#lists.clear();
    };
  }
}

function copyOf(tables: Tables): Tables {
  return new Map([...tables].map(([name, entries]) => [name, new Map(entries)]));
}
