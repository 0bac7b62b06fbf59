/** Keeps the control plane's managed resources as the objects of the clusters say. */

import { isDeepStrictEqual } from "node:util";
import { Failure } from "../../../engine/index.ts";
import type { Collection } from "../../control/collection.ts";
import type { Collections } from "../../control/resource-kinds.ts";
import type { Caller } from "../../model/caller.ts";
import { describeManaged, type ManagedPlace } from "../../model/stored-resource.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { NameRange } from "../exporter/hub-client.ts";
import { objectsAtOnce } from "./limits.ts";
import { hasNamespace, type SyncedKind, type SyncedKindName, syncedKindsOf } from "./synced-kinds.ts";

/** An object as its cluster has it. */
export interface SentObject {
  kind: SyncedKindName;
  metadata: { name: string; namespace?: string | undefined; uid: string };
  spec: unknown;
}

/** Names an object of a cluster. */
export interface SentName {
  kind: SyncedKindName;
  namespace?: string | undefined;
  name: string;
}

/** Why an object is stored or not; the reason of its condition Ready. */
type SyncReason =
  | "Synced"
  | "NameTaken"
  | "InvalidSpec"
  | "InvalidQuery"
  | "InvalidRegex"
  | "QuotaExceeded"
  | "Failed";

/** What became of one object. */
export interface SyncResult {
  kind: SyncedKindName;
  namespace: string;
  name: string;
  uid: string;
  /** The id of the resource that was made of it. */
  id: string;
  reason: SyncReason;
  /** True where the same object may be taken later. */
  isTemporary: boolean;
  /** What is wrong and what to do; for a stored object its warnings, possibly none. */
  message: string;
}

export class ManagedObjects {
  readonly #kinds: Record<SyncedKindName, SyncedKind>;

  constructor(collections: Collections) {
    this.#kinds = syncedKindsOf(collections);
  }

  /**
   * Stores the resources of these objects, each by itself: where one is refused, its last good version stays. `check` is
   * called at the moment of each write, and throws Refusal where the cluster may write no more.
   */
  async apply(
    cluster: string,
    objects: readonly SentObject[],
    check: () => void = () => undefined,
  ): Promise<SyncResult[]> {
    return eachAtOnce(objects, (object) => this.#applyOne(cluster, object, check));
  }

  /** Removes the resources of these objects. Resources of other clusters are never touched. */
  async remove(cluster: string, names: readonly SentName[]): Promise<number> {
    const removed = await eachAtOnce(names, ({ kind, namespace = "", name }) => {
      const { collection, idOf } = this.#kinds[kind];
      const id = idOf({ cluster, namespace, name });
      return removeManaged(collection, id, { cluster, namespace, kind });
    });
    return removed.filter(Boolean).length;
  }

  /** Removes the resources of a kind whose objects in the range the cluster does not have any more. Returns how many. */
  async sweep(
    cluster: string,
    kind: SyncedKindName,
    kept: readonly Omit<SentName, "kind">[],
    { after, upTo }: NameRange,
  ): Promise<number> {
    const names = new Set(kept.map(({ namespace = "", name }) => `${namespace}/${name}`));
    const gone = this.list(cluster, kind).filter((object) => {
      const name = `${object.namespace}/${object.name}`;
      const isInRange = (after === undefined || name > after) && (upTo === undefined || name <= upTo);
      return isInRange && !names.has(name);
    });
    return this.remove(cluster, gone);
  }

  /** The objects of a kind of which the cluster has resources here. */
  list(cluster: string, kind: SyncedKindName): (Required<SentName> & { uid: string })[] {
    return this.#kinds[kind].collection.list().flatMap(({ value: { managed } }) => {
      const object = managed?.object;
      if (managed?.cluster !== cluster || object?.kind !== kind) return [];
      return [{ kind, namespace: managed.namespace, name: object.name, uid: object.uid }];
    });
  }

  async #applyOne(
    cluster: string,
    { kind, metadata, spec }: SentObject,
    check: () => void,
  ): Promise<SyncResult> {
    const { name, uid } = metadata;
    const namespace = hasNamespace(kind) ? (metadata.namespace ?? "") : "";
    const { collection, idOf, make } = this.#kinds[kind];
    const object = { cluster, namespace, name };
    const id = idOf(object);
    const result = { kind, namespace, name, uid, id };
    try {
      if (namespace === "" && hasNamespace(kind)) throw new Refusal(400, "metadata.namespace is required");
      const { value, warnings } = make(spec, object);
      const managed: ManagedPlace = { cluster, namespace, object: { kind, name, uid } };
      const stored = collection.get(id);
      const holder = stored?.managed;
      if (holder?.object !== undefined && holder.object.kind !== kind) {
        const message = `the id ${id} belongs to ${describeManaged(holder)}: give one of the two another name`;
        return { ...result, reason: "NameTaken", isTemporary: false, message };
      }
      const makeValue = () => {
        check();
        return value;
      };
      if (!isDeepStrictEqual([stored?.value, stored?.managed], [value, managed]))
        await collection.put(id, makeValue, { by: clusterCaller(cluster), ifMatch: null, managed });
      return { ...result, reason: "Synced", isTemporary: false, message: warnings.join("; ") };
    } catch (error) {
      return { ...result, ...describeFailure(error) };
    }
  }
}

/** Who saves what a cluster's objects say: a caller who reads the rows of that cluster alone. */
function clusterCaller(cluster: string): Caller {
  return {
    tokenId: null,
    name: `Kubernetes cluster ${cluster}`,
    role: "cluster",
    groups: [],
    environment: cluster,
  };
}

function removeManaged(
  collection: Collection<unknown>,
  id: string,
  { cluster, kind }: { cluster: string; namespace: string; kind: SyncedKindName },
): Promise<boolean> {
  const managed = collection.get(id)?.managed;
  if (managed?.cluster !== cluster || managed.object?.kind !== kind) return Promise.resolve(false);
  return collection.remove(id, { by: clusterCaller(cluster), ifMatch: null });
}

function describeFailure(error: unknown): Pick<SyncResult, "reason" | "isTemporary" | "message"> {
  if (error instanceof Refusal && error.status < 500) {
    const { message } = error;
    if (error.status !== 400) return { reason: "QuotaExceeded", isTemporary: true, message };
    const reason = message.includes("RE2 syntax")
      ? "InvalidRegex"
      : /\.query: /.test(message)
        ? "InvalidQuery"
        : "InvalidSpec";
    return { reason, isTemporary: false, message };
  }
  if (error instanceof Refusal || error instanceof Failure)
    return { reason: "Failed", isTemporary: true, message: error.message };
  throw error;
}

async function eachAtOnce<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const run = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(objectsAtOnce, items.length) }, run));
  return results;
}
