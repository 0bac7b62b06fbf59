/** What the control plane stores of a resource, beside the resource itself. */

import type { Caller } from "./caller.ts";

/** A stored resource with its revision and history. */
export interface Stored<T> {
  /** As it was sent, with the id that was given to it. */
  value: T;
  /** Changes with every write. */
  revision: string;
  createdAtMs: number;
  updatedAtMs: number;
  /** The caller who wrote it last: an alert's queries run with these rights. */
  updatedBy: Caller;
  /** Where its custom resource is; only of a resource that Kubernetes manages. */
  managed?: ManagedPlace;
}

/** Where a custom resource is. */
export interface ManagedPlace {
  cluster: string;
  /** Empty for objects without a namespace. */
  namespace: string;
  /** The object itself. */
  object?: ManagedObject;
}

/** The custom resource that a stored resource was made of. */
interface ManagedObject {
  kind: string;
  name: string;
  /** Kubernetes' own id: an object that is deleted and created again has another. */
  uid: string;
}

/** What people read about the object that has to be changed, such as `SvcAlert errors in shop (cluster prod)`. */
export function describeManaged({ cluster, namespace, object }: ManagedPlace): string {
  const what = object === undefined ? "its custom resource" : `${object.kind} ${object.name}`;
  return `${what}${namespace === "" ? "" : ` in ${namespace}`} (cluster ${cluster})`;
}
