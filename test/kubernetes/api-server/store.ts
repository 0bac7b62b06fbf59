/** Objects, one sequence of revisions over all of them, and the changes since the last compaction. */
import type { KubernetesObject } from "./objects.ts";
import { expired } from "./status.ts";

/** One write; `before` is undefined for a creation, `object` is the last state for a deletion. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly collection: string;
  readonly key: string;
  readonly object: KubernetesObject;
  readonly before: KubernetesObject | undefined;
}

interface Collection {
  readonly objects: Map<string, KubernetesObject>;
  /** Keys in order; undefined after a key came or went. */
  sorted: string[] | undefined;
}

/** Changes kept for watches; older ones are compacted away, so that a soak does not grow without end. */
const changesMax = 50_000;

export class ObjectStore {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<(change: Change) => void>();
  #changes: Change[] = [];
  #revision = 1;
  #floor = 1;

  /** The revision of the newest write. */
  get revision(): number {
    return this.#revision;
  }

  /** Watches and continuations from before this revision are refused. */
  get floor(): number {
    return this.#floor;
  }

  get(collection: string, key: string): KubernetesObject | undefined {
    return this.#collections.get(collection)?.objects.get(key);
  }

  /** The objects whose keys begin with `prefix`, in order of their keys, as `[key, object]`. */
  list(collection: string, prefix: string): [string, KubernetesObject][] {
    const of = this.#collections.get(collection);
    if (of === undefined) return [];
    of.sorted ??= [...of.objects.keys()].sort((a, b) => (a < b ? -1 : 1));
    return of.sorted.filter((key) => key.startsWith(prefix)).map((key) => [key, of.objects.get(key)!]);
  }

  /** The objects of a revision; throws 410 where it was compacted. */
  listAt(collection: string, prefix: string, revision: number): [string, KubernetesObject][] {
    if (revision === this.#revision) return this.list(collection, prefix);
    const later = this.changesSince(revision).filter((change) => change.collection === collection);
    const objects = new Map(this.list(collection, prefix));
    for (const { key, before } of later.reverse()) {
      if (!key.startsWith(prefix)) continue;
      if (before === undefined) objects.delete(key);
      else objects.set(key, before);
    }
    return [...objects].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Stores an object under a new revision, which it carries. */
  put(collection: string, key: string, object: KubernetesObject): KubernetesObject {
    let of = this.#collections.get(collection);
    if (of === undefined) {
      of = { objects: new Map(), sorted: undefined };
      this.#collections.set(collection, of);
    }
    const before = of.objects.get(key);
    const stored = this.#stamp(object);
    of.objects.set(key, stored);
    if (before === undefined) of.sorted = undefined;
    this.#publish({
      type: before === undefined ? "ADDED" : "MODIFIED",
      collection,
      key,
      object: stored,
      before,
    });
    return stored;
  }

  /** Removes an object, and returns its last state with the revision of the removal. */
  remove(collection: string, key: string, last: KubernetesObject): KubernetesObject {
    const of = this.#collections.get(collection)!;
    const before = of.objects.get(key);
    of.objects.delete(key);
    of.sorted = undefined;
    const removed = this.#stamp(last);
    this.#publish({ type: "DELETED", collection, key, object: removed, before });
    return removed;
  }

  /** The changes after a revision; throws 410 where some of them were compacted. */
  changesSince(revision: number): Change[] {
    if (revision < this.#floor) {
      throw expired(`too old resource version: ${revision} (${this.#floor})`);
    }
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#changes[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#changes.slice(low);
  }

  /** Forgets how the objects came to be what they are; the objects stay. */
  compact(): void {
    this.#floor = this.#revision;
    this.#changes = [];
  }

  /** Calls `listener` at each change, until the function that it returns is called. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #stamp(object: KubernetesObject): KubernetesObject {
    this.#revision++;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #publish(change: Omit<Change, "revision">): void {
    const whole = { ...change, revision: this.#revision };
    this.#changes.push(whole);
    if (this.#changes.length > 2 * changesMax) {
      this.#changes = this.#changes.slice(-changesMax);
      this.#floor = this.#changes[0]!.revision - 1;
    }
    for (const listener of [...this.#listeners]) listener(whole);
  }
}
