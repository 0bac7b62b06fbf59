/** Ids of what is configured: any text, of which one beginning is Kubernetes' alone. */

import { randomUUID } from "node:crypto";
import * as z from "zod";
import { Refusal } from "../limits/refusal.ts";
import { idBytesMax } from "./limits.ts";

const managedPrefix = "kubernetes-managed.";

/** Empty is the same as not sent: clients with plain structures cannot leave a field out. */
export const sentId = z.string().max(idBytesMax);

/** `kubernetes-managed.<cluster>.<namespace>.<name>`: the source of truth is a cluster. */
export function isManaged(id: string): boolean {
  return id.startsWith(managedPrefix);
}

/** The id that was sent, or a new one. Throws Refusal 400 for one that cannot be stored, named by its path. */
export function checkOrMakeId(id: string | undefined, path: string): string {
  if (id === undefined || id === "") return randomUUID();
  if (!id.isWellFormed()) throw new Refusal(400, `${path} must be valid Unicode`);
  const bytes = Buffer.byteLength(id);
  if (bytes > idBytesMax)
    throw new Refusal(400, `${path} must have at most ${idBytesMax} bytes, got ${bytes}`);
  return id;
}

/** Throws Refusal 409 where only the cluster may change the resource. */
export function refuseManaged(id: string, what: string): void {
  if (!isManaged(id)) return;
  throw new Refusal(
    409,
    `${what} ${JSON.stringify(id.slice(0, 200))} is managed by Kubernetes: change it by its custom resource`,
  );
}
