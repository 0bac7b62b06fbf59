/**
 * Groups, and the rules that say what their members see and do: they only allow, and add up (specification, section
 * 2.5).
 */

import * as z from "zod";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { ruleSignals } from "./rule-signal.ts";
import { listOf, longText, nameText, strictObject } from "./schema.ts";

const groupRole = z.enum(["viewer", "editor", "admin"]);
export type GroupRole = z.infer<typeof groupRole>;

export const groupShape = strictObject({
  name: nameText,
  /** Role of the users whom the identity provider names as members; absent: viewer. A token has a role of its own. */
  role: groupRole.optional(),
  /** Group names in the groups claim of a user's token that make the user a member. */
  oidcMappings: z.array(nameText).max(listedMax).optional(),
}).meta({ id: "Group" });

/** A group of users and tokens. */
export type Group = z.infer<typeof groupShape>;

export const telemetryGrantShape = strictObject({
  signals: listOf(z.enum(ruleSignals)),
  /** All expressions must hold; without any, all rows do. */
  match: strictObject({
    matchExpressions: z
      .array(strictObject({ key: nameText, operator: z.literal("In"), values: listOf(longText) }))
      .max(listedMax),
  }).optional(),
});

/** What one telemetry rule allows to read of some signals. */
export type TelemetryGrant = z.infer<typeof telemetryGrantShape>;

/**
 * What all rules share. Without `cluster`, a rule holds for rows and resources of every cluster, and for those without
 * one.
 */
const bound = {
  id: sentId.optional(),
  displayName: nameText.optional(),
  groups: z.array(nameText).max(listedMax),
  cluster: nameText.optional(),
};

export const telemetryRuleShape = z
  .discriminatedUnion("type", [
    strictObject({ type: z.literal("cluster"), ...bound, rules: listOf(telemetryGrantShape) }),
    strictObject({
      type: z.literal("namespace"),
      ...bound,
      namespace: nameText,
      rules: listOf(telemetryGrantShape),
    }),
  ])
  .meta({ id: "TelemetryRule" });

/** Allows members of groups to read rows. */
export type TelemetryRule = z.infer<typeof telemetryRuleShape>;

/** Kinds of resources that Kubernetes can manage. */
export const managedKinds = ["alerts", "dashboards", "webhooks"] as const;
export type ManagedKind = (typeof managedKinds)[number];
const verbs = ["create", "read", "update", "delete"] as const;
export type Verb = (typeof verbs)[number];

/** Members of a grant of a resource rule. */
export const resourceGrantShape = {
  resources: listOf(z.enum(managedKinds)),
  verbs: listOf(z.enum(verbs)),
};

export const resourceRuleShape = z
  .discriminatedUnion("type", [
    strictObject({
      type: z.literal("cluster"),
      ...bound,
      /** `path` narrows the grant to a folder below the cluster's, e.g. `/shop/`. */
      rules: listOf(strictObject({ ...resourceGrantShape, path: longText.optional() })),
    }),
    strictObject({
      type: z.literal("namespace"),
      ...bound,
      namespace: nameText,
      rules: listOf(strictObject(resourceGrantShape)),
    }),
  ])
  .meta({ id: "ResourceRule" });

/** Allows members of groups to use verbs on managed resources. */
export type ResourceRule = z.infer<typeof resourceRuleShape>;

/** What a grant's path requires of a resource; what is absent may be anything. */
interface GrantPath {
  kind?: string | undefined;
  cluster?: string | undefined;
  namespace?: string | undefined;
  /** Folders below the namespace's. No resource lies in them. */
  deeper: string[];
}

/**
 * Reads a path written from the cluster's folder (`/shop/`) or from the root
 * (`/alerts/kubernetes-managed/prod/shop/`). Slashes at its begin and end mean nothing.
 */
export function readGrantPath(path: string): GrantPath {
  const parts = path.split("/").filter((part) => part !== "");
  if (parts[1] !== "kubernetes-managed") return { namespace: parts[0], deeper: parts.slice(1) };
  const [kind, , cluster, namespace, ...deeper] = parts;
  return { kind, cluster, namespace, deeper };
}

/** Warnings about paths that no resource of the rule can lie in; `where` names the rule. */
export function warnIdlePaths(rule: ResourceRule, where: string): string[] {
  if (rule.type !== "cluster") return [];
  return rule.rules.flatMap(({ path, resources }, i) => {
    if (path === undefined) return [];
    const { kind, cluster, deeper } = readGrantPath(path);
    const field = `${where}.rules[${i}].path`;
    if (kind !== undefined && !resources.some((each) => each === kind))
      return [`${field} grants nothing: it lies in ${JSON.stringify(kind)}, which resources does not name`];
    if (cluster !== undefined && rule.cluster !== undefined && cluster !== rule.cluster)
      return [
        `${field} grants nothing: it lies in the cluster ${JSON.stringify(cluster)}, not in the rule's`,
      ];
    if (deeper.length > 0)
      return [
        `${field} grants nothing: it must end with a namespace, such as /shop/ or /alerts/kubernetes-managed/prod/shop/`,
      ];
    return [];
  });
}
