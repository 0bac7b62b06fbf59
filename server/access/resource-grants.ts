/** What resource rules allow members of groups to do with managed resources. Rules only allow, and add up. */

import { type ManagedKind, type ResourceRule, readGrantPath, type Verb } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";
import type { ManagedPlace } from "../model/stored-resource.ts";
import { isRestricted } from "./row-filter.ts";

/** Whether rules allow the caller the verb on a managed resource; true for callers whom no rules bind. */
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
    return path === undefined || isBelow(path, kind, place);
  });
}

/** Whether the path names a folder that the resource lies in. */
function isBelow(path: string, kind: ManagedKind, { cluster, namespace }: ManagedPlace): boolean {
  const required = readGrantPath(path);
  return (
    (required.kind ?? kind) === kind &&
    (required.cluster ?? cluster) === cluster &&
    (required.namespace ?? namespace) === namespace &&
    required.deeper.length === 0
  );
}
