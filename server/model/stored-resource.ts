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

/** The cluster and namespace of a custom resource. */
export interface ManagedPlace {
  cluster: string;
  namespace: string;
}
