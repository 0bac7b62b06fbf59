/** The objects of one kind: which of them have to be sent, and why. */

import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import type { ObjectWatcher } from "../cluster/object-watch.ts";
import type { InventoryKind } from "./inventory-kinds.ts";
import {
  fingerprintParts,
  type ObjectParts,
  type ResourceChange,
  type ResourceRow,
  type ResourceRows,
} from "./resource-row.ts";

interface KnownObject {
  parts: ObjectParts;
  name: string;
  namespace: string | undefined;
}

export interface KindInventoryOptions {
  kind: InventoryKind;
  rows: ResourceRows;
  /** Takes a row that has to be sent. */
  emit: (row: ResourceRow, object: KubernetesObject) => void;
  /** True for an object of the first list that was sent before the process started. */
  wasSent: (object: KubernetesObject) => boolean;
  /** Unix milliseconds. */
  nowMs: () => number;
}

/** Its lists come in pages. */
export class KindInventory implements ObjectWatcher {
  readonly #options: KindInventoryOptions;
  readonly #known = new Map<string, KnownObject>();
  #hasListed = false;
  /** Events have no state: each is sent when it happens. */
  readonly #hasState: boolean;
  #isStateDue: boolean;

  constructor(options: KindInventoryOptions) {
    this.#options = options;
    this.#hasState = options.kind.kind !== "Event";
    this.#isStateDue = this.#hasState;
  }

  get size(): number {
    return this.#known.size;
  }

  /** True for a kind whose next list is to be sent as a whole. */
  requestState(): boolean {
    this.#isStateDue = this.#hasState;
    return this.#isStateDue;
  }

  listed(objects: KubernetesObject[]): void {
    const uids = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const [uid, { name, namespace }] of this.#known) {
      if (uids.has(uid)) continue;
      const { apiVersion, kind } = this.#options.kind;
      // Its last form is not known: nobody was told when it went.
      const metadata = { name, uid, ...(namespace === undefined ? {} : { namespace }) };
      this.deleted({ apiVersion, kind, metadata });
    }
    this.#hasListed = true;
    this.#isStateDue = false;
  }

  changed(object: KubernetesObject): void {
    const { name, namespace, uid } = object.metadata;
    const last = this.#known.get(uid);
    const parts = fingerprintParts(object);
    this.#known.set(uid, { parts, name, namespace });
    if (last === undefined && !this.#hasListed && this.#options.wasSent(object)) return;
    const changedParts = last === undefined ? [] : findChangedParts(last.parts, parts);
    if (this.#isStateDue && changedParts.length === 0) this.#emit(object, "present");
    else if (last === undefined) this.#emit(object, "added");
    else if (changedParts.length > 0) this.#emit(object, "changed", changedParts);
  }

  deleted(object: KubernetesObject): void {
    if (this.#known.delete(object.metadata.uid) && this.#hasState) this.#emit(object, "deleted");
  }

  #emit(object: KubernetesObject, change: ResourceChange, parts: readonly string[] = []): void {
    const { kind, rows, nowMs, emit } = this.#options;
    const row = rows.make(kind, object, change, nowMs());
    if (parts.length > 0) row.attributes["k8s.resource.changed"] = parts.join(",");
    emit(row, object);
  }
}

function findChangedParts(a: ObjectParts, b: ObjectParts): string[] {
  return (["metadata", "spec", "status"] as const).filter((part) => a[part] !== b[part]);
}
