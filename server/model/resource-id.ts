/** Ids of stored resources: any text. The prefix `kubernetes-managed.` marks resources that Kubernetes manages. */

import { randomUUID } from "node:crypto";
import * as z from "zod";
import { makeFieldRefusal, Refusal } from "../throttle/refusal.ts";
import { idBytesMax } from "./limits.ts";
import { describeManaged, type ManagedPlace } from "./stored-resource.ts";

const managedPrefix = "kubernetes-managed.";

/** An id in a body. Empty means not sent, since clients with plain structures cannot leave a field out. */
export const sentId = z.string().max(idBytesMax);

/** True for `kubernetes-managed.<cluster>.<namespace>.<name>`: a cluster is the source of truth of the resource. */
export function isManaged(id: string): boolean {
  return id.startsWith(managedPrefix);
}

/** The id that was sent, or a new UUID. Throws Refusal 400 naming the path for an id that cannot be stored. */
export function checkOrMakeId(id: string | undefined, path: string): string {
  if (id === undefined || id === "") return randomUUID();
  if (!id.isWellFormed()) throw makeFieldRefusal(path, "must be valid Unicode");
  const bytes = Buffer.byteLength(id);
  if (bytes > idBytesMax) throw makeFieldRefusal(path, `must have at most ${idBytesMax} bytes, got ${bytes}`);
  return id;
}

/**
 * The id of a managed resource. Neither clusters nor namespaces have dots in their names, so no two objects of a kind
 * get the same id; that of an object without a namespace has nothing between two dots.
 */
export function managedId(cluster: string, namespace: string, name: string): string {
  return `${managedPrefix}${cluster}.${namespace}.${name}`;
}

/**
 * Throws Refusal 409 for a managed resource, which only its cluster may change: one of such an id, or one with a place.
 */
export function refuseManaged(id: string, what: string, place?: ManagedPlace): void {
  if (!isManaged(id) && place === undefined) return;
  const object = place === undefined ? "it by its custom resource" : describeManaged(place);
  throw new Refusal(
    409,
    `${what} ${JSON.stringify(id.slice(0, 200))} is managed by Kubernetes: change ${object}`,
  );
}
