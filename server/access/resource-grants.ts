/** What resource rules let members of groups do with what Kubernetes manages: additive, allow-only. */

import type { ManagedKind, ResourceRule, Verb } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";
import type { ManagedPlace } from "../model/stored-resource.ts";
import { isRestricted } from "./row-filter.ts";

/** Whether the caller may do this with a managed resource, as far as rules have a say. */
export function canUseManaged(
  caller: Caller,
  rules: readonly ResourceRule[],
  kind: ManagedKind,
  verb: Verb,
  place: ManagedPlace,
): boolean {
  if (!isRestricted(caller)) return true;
  const groups = caller.groups ?? [];
  return rules.some((rule) => {
    if (!rule.groups.some((group) => groups.includes(group))) return false;
    return grants(rule, kind, verb, place);
  });
}

function grants(rule: ResourceRule, kind: ManagedKind, verb: Verb, place: ManagedPlace): boolean {
  if (rule.cluster !== undefined && rule.cluster !== place.cluster) return false;
  if (rule.type === "namespace" && rule.namespace !== place.namespace) return false;
  const granted: readonly { resources: ManagedKind[]; verbs: Verb[]; path?: string | undefined }[] =
    rule.rules;
  return granted.some(({ resources, verbs, path }) => {
    if (!resources.includes(kind) || !verbs.includes(verb)) return false;
    return path === undefined || isBelow(folderOf(kind, place), path, kind, place);
  });
}

/** `/alerts/kubernetes-managed/<cluster>/<namespace>/` */
function folderOf(kind: ManagedKind, { cluster, namespace }: ManagedPlace): string[] {
  return [kind, "kubernetes-managed", cluster, namespace];
}

/** Whether the folder is the path or stands below it; a path that does not begin at the root begins in the cluster's folder. */
function isBelow(folder: readonly string[], path: string, kind: ManagedKind, place: ManagedPlace): boolean {
  const given = path.split("/").filter((part) => part !== "");
  const isWhole = path.startsWith(`/${kind}/kubernetes-managed/`);
  const wanted = isWhole ? given : [kind, "kubernetes-managed", place.cluster, ...given];
  return wanted.every((part, i) => folder[i] === part);
}
