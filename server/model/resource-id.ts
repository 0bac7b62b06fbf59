/** Ids of stored resources: any text. The prefix `kubernetes-managed.` marks resources that Kubernetes manages. */

import { randomUUID } from "node:crypto";
import * as z from "zod";
import { Refusal } from "../throttle/refusal.ts";
import { idBytesMax } from "./limits.ts";

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
  if (!id.isWellFormed()) throw new Refusal(400, `${path} must be valid Unicode`);
  const bytes = Buffer.byteLength(id);
  if (bytes > idBytesMax)
    throw new Refusal(400, `${path} must have at most ${idBytesMax} bytes, got ${bytes}`);
  return id;
}

/** Throws Refusal 409 for the id of a managed resource, which only its cluster may change. */
export function refuseManaged(id: string, what: string): void {
  if (!isManaged(id)) return;
  throw new Refusal(
    409,
    `${what} ${JSON.stringify(id.slice(0, 200))} is managed by Kubernetes: change it by its custom resource`,
  );
}
