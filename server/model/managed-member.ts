/** The folders of resources, and where Kubernetes manages one, as answers show it. */

import { managedKinds } from "./access-rules.ts";
import type { ManagedPlace } from "./stored-resource.ts";

/** Kinds whose resources lie in folders. */
const folderKinds: ReadonlySet<string> = new Set(managedKinds);

/** The folder of a managed resource; `plural` names the kind. */
export function managedFolderOf(plural: string, { cluster, namespace }: ManagedPlace): string {
  return `/${plural}/kubernetes-managed/${cluster}/${namespace}/`;
}

/** Where the object is that a managed resource is made of, as answers show it. */
export function managedMember(plural: string, place: ManagedPlace): Record<string, unknown> {
  const { cluster, namespace, object } = place;
  return {
    cluster,
    ...(namespace === "" ? {} : { namespace }),
    ...(object === undefined ? {} : { kind: object.kind, name: object.name }),
    ...(folderKinds.has(plural) ? { folderPath: managedFolderOf(plural, place) } : {}),
  };
}
