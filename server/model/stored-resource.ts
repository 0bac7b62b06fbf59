import type { Caller } from "./caller.ts";

export interface Stored<T> {
  /** As it was sent, but for the id that it was given. */
  value: T;
  /** Another one with every write. */
  revision: string;
  createdAtMs: number;
  updatedAtMs: number;
  /** Who saved it last: an alert's queries run with these rights. */
  updatedBy: Caller;
  /** Where its custom resource stands, of one that Kubernetes manages. */
  managed?: ManagedPlace;
}

export interface ManagedPlace {
  cluster: string;
  namespace: string;
}
