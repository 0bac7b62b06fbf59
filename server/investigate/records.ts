/** The stored investigations. */

import type { Json, State, StateChange } from "../../engine/index.ts";
import type { Caller } from "../model/caller.ts";
import type { StoredInvestigation } from "../model/investigation.ts";

/** An investigation with the caller whose rights it reads with. */
export interface OwnedInvestigation {
  investigation: StoredInvestigation;
  owner: Caller;
}

const table = "investigations";
/** Kept of those that alerts asked for, and of those that people did: the newest, some 10 kB each. */
const keptMax = 500;

export class InvestigationRecords {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  get(id: string): OwnedInvestigation | undefined {
    return this.#state.get(table, id) as unknown as OwnedInvestigation | undefined;
  }

  /** The newest first. */
  list(): OwnedInvestigation[] {
    const all = this.#state.list(table).map(({ value }) => value as unknown as OwnedInvestigation);
    return all.sort((a, b) => b.investigation.createdAt - a.investigation.createdAt);
  }

  /** Stores one, and removes the oldest beyond `keptMax`. */
  changes(owned: OwnedInvestigation): StateChange[] {
    const { id } = owned.investigation;
    const ofFires = (each: OwnedInvestigation) => each.investigation.fires.length > 0;
    const alike = this.list().filter(
      (each) => each.investigation.id !== id && ofFires(each) === ofFires(owned),
    );
    const removed = alike.slice(keptMax - 1).map((each) => each.investigation.id);
    return [
      { table, id, value: owned as unknown as Json },
      ...removed.map((old) => ({ table, id: old, value: undefined })),
    ];
  }

  /** Throws what the state throws. */
  async store(owned: OwnedInvestigation): Promise<void> {
    await this.#state.write(this.changes(owned));
  }
}
