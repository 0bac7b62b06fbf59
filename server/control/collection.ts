/**
 * The resources of one kind, in the control-plane state. Writes are atomic; writes of one id run one after the other.
 */

import { randomBytes } from "node:crypto";
import { Failure, type Json, type State, type StateChange } from "../../engine/index.ts";
import type { Caller } from "../model/caller.ts";
import type { ManagedPlace, Stored } from "../model/stored-resource.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Audit, AuditedChange } from "./audit.ts";

export interface Write {
  by: Caller;
  /** The If-Match header; null where there is none. */
  ifMatch: string | null;
  managed?: ManagedPlace;
  /** Commits the changes together with further ones; by default they are committed alone. */
  commit?: (changes: readonly StateChange[]) => Promise<unknown>;
}

export interface CollectionOptions<T> {
  state: State;
  audit: Audit;
  now: () => number;
  table: string;
  /** Singular name of the kind: `alert`. */
  name: string;
  /** How many there may be. */
  sizeMax: number;
  titleOf(value: T): string;
}

/** A resource in a list. */
export interface CollectionEntry<T> {
  readonly id: string;
  /** Parsed when it is first read. */
  readonly value: Stored<T>;
}

/** What a commit does that deletes a resource, and what the audit log says of it. */
export interface Removal {
  change: StateChange;
  audited: AuditedChange;
}

export class Collection<T> {
  readonly #options: CollectionOptions<T>;
  /** The last write under way of each id. */
  readonly #lastWrites = new Map<string, Promise<unknown>>();

  constructor(options: CollectionOptions<T>) {
    this.#options = options;
  }

  /** A resource whose stored value is damaged counts as absent, so that it can be written again. */
  get(id: string): Stored<T> | undefined {
    try {
      return this.#options.state.get(this.#options.table, id) as Stored<T> | undefined;
    } catch (error) {
      if (error instanceof Failure && error.kind === "damage") return undefined;
      throw error;
    }
  }

  get size(): number {
    return this.#options.state.count(this.#options.table);
  }

  /** All resources in the order of their ids. Returns the same list until one of them changes. */
  list(): readonly CollectionEntry<T>[] {
    return this.#options.state.list(this.#options.table) as unknown as CollectionEntry<T>[];
  }

  /**
   * Creates or replaces a resource: `make` receives the stored resource and returns the new value. Throws Refusal 412
   * where If-Match does not hold, and whatever `make` throws.
   */
  put(id: string, make: (before: Stored<T> | undefined) => T, write: Write): Promise<Stored<T>> {
    return this.#serialize(id, async () => {
      const before = this.get(id);
      checkIfMatch(before, write.ifMatch);
      if (before === undefined) this.#checkRoom();
      const nowMs = this.#options.now();
      const stored: Stored<T> = {
        value: make(before),
        revision: randomBytes(9).toString("base64url"),
        createdAtMs: before?.createdAtMs ?? nowMs,
        updatedAtMs: nowMs,
        updatedBy: write.by,
        ...(write.managed === undefined ? {} : { managed: write.managed }),
      };
      await this.#commit(id, before === undefined ? "created" : "updated", stored, write);
      return stored;
    });
  }

  /**
   * Returns false where no resource has that id. Throws Refusal 412 where If-Match does not hold, and whatever `check`
   * throws of the resource.
   */
  remove(id: string, write: Write, check: (before: Stored<T>) => void = () => undefined): Promise<boolean> {
    return this.#serialize(id, async () => {
      const before = this.get(id);
      if (before === undefined) return false;
      checkIfMatch(before, write.ifMatch);
      check(before);
      await this.#commit(id, "deleted", before, write);
      return true;
    });
  }

  /** What deletes a resource in a commit with other changes. The caller ensures that nobody else writes it meanwhile. */
  removalOf({ id, value }: CollectionEntry<T>, by: Caller): Removal {
    return {
      change: { table: this.#options.table, id, value: undefined },
      audited: this.#auditedChange("deleted", id, value, by),
    };
  }

  #auditedChange(
    action: AuditedChange["action"],
    id: string,
    { value }: Stored<T>,
    by: Caller,
  ): AuditedChange {
    const { name, titleOf } = this.#options;
    return { by, action, resource: name, id, title: titleOf(value) };
  }

  /** Throws Refusal 409 where there are as many resources as are kept. */
  #checkRoom(): void {
    const { name, sizeMax } = this.#options;
    if (this.size < sizeMax) return;
    throw new Refusal(
      409,
      `there are ${sizeMax.toLocaleString("en")} of kind ${name}, the most that are kept: delete one first`,
    );
  }

  async #commit(
    id: string,
    action: AuditedChange["action"],
    stored: Stored<T>,
    { by, commit }: Write,
  ): Promise<void> {
    const { state, audit, table } = this.#options;
    const change = this.#auditedChange(action, id, stored, by);
    // Values were read from JSON.
    const value = action === "deleted" ? undefined : (stored as unknown as Json);
    await audit.commit(change, [{ table, id, value }], commit ?? ((changes) => state.write(changes)));
  }

  async #serialize<R>(id: string, run: () => Promise<R>): Promise<R> {
    const before = this.#lastWrites.get(id) ?? Promise.resolve();
    const result = before.then(run);
    const settled = result.catch(() => undefined);
    this.#lastWrites.set(id, settled);
    try {
      return await result;
    } finally {
      if (this.#lastWrites.get(id) === settled) this.#lastWrites.delete(id);
    }
  }
}

/** The values of a collection in the order of their ids: the same list until one of them changes. */
export function valuesOf<T>(collection: Collection<T>): readonly T[] {
  const list = collection.list();
  const known = valuesOfList.get(list) as T[] | undefined;
  if (known !== undefined) return known;
  const values = list.map((entry) => entry.value.value);
  valuesOfList.set(list, values);
  return values;
}

/** Requests read the same few collections again and again. */
const valuesOfList = new WeakMap<object, unknown[]>();

export function etagOf({ revision }: Stored<unknown>): string {
  return `"${revision}"`;
}

function checkIfMatch(before: Stored<unknown> | undefined, ifMatch: string | null): void {
  if (ifMatch === null) return;
  const tags = ifMatch.split(",").map((tag) => tag.trim());
  const holds = before !== undefined && (tags.includes("*") || tags.includes(etagOf(before)));
  if (holds) return;
  const problem = before === undefined ? "it does not exist" : "it was changed meanwhile: read it again";
  throw new Refusal(412, `If-Match does not hold: ${problem}`);
}
