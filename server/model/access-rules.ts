/** Groups and what their members may see: additive, allow-only (interface specification, section 2.5). */

import * as z from "zod";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { longText, nameText, strictObject } from "./schema.ts";

const groupRole = z.enum(["viewer", "editor", "admin"]);
export type GroupRole = z.infer<typeof groupRole>;

export const groupShape = strictObject({
  name: nameText,
  /** Of users whom the identity provider names as members; viewer where it is left out. A token has a role of its own. */
  role: groupRole.optional(),
  /** Names in the groups claim of an OIDC token whose bearers are members. */
  oidcMappings: z.array(nameText).max(listedMax).optional(),
}).meta({ id: "Group" });

export type Group = z.infer<typeof groupShape>;

const listOf = <S extends z.ZodType>(of: S) => z.array(of).min(1).max(listedMax);

const ruleSignals = ["logs", "metrics", "traces", "profiles", "kubernetesResources"] as const;
export type RuleSignal = (typeof ruleSignals)[number];

const telemetryGrant = strictObject({
  signals: listOf(z.enum(ruleSignals)),
  /** All expressions must hold; without any, all rows do. */
  match: strictObject({
    matchExpressions: z
      .array(strictObject({ key: nameText, operator: z.literal("In"), values: listOf(longText) }))
      .max(listedMax),
  }).optional(),
});

export type TelemetryGrant = z.infer<typeof telemetryGrant>;

/** Names and clusters bound a rule; `cluster` left out means rows of every cluster, and those without one. */
const bound = {
  id: sentId.optional(),
  displayName: nameText.optional(),
  groups: z.array(nameText).max(listedMax),
  cluster: nameText.optional(),
};

export const telemetryRuleShape = z
  .discriminatedUnion("type", [
    strictObject({ type: z.literal("cluster"), ...bound, rules: listOf(telemetryGrant) }),
    strictObject({
      type: z.literal("namespace"),
      ...bound,
      namespace: nameText,
      rules: listOf(telemetryGrant),
    }),
  ])
  .meta({ id: "TelemetryRule" });

export type TelemetryRule = z.infer<typeof telemetryRuleShape>;

export const managedKinds = ["alerts", "dashboards", "webhooks"] as const;
export type ManagedKind = (typeof managedKinds)[number];
const verbs = ["create", "read", "update", "delete"] as const;
export type Verb = (typeof verbs)[number];

const resourceGrant = {
  resources: listOf(z.enum(managedKinds)),
  verbs: listOf(z.enum(verbs)),
};

export const resourceRuleShape = z
  .discriminatedUnion("type", [
    strictObject({
      type: z.literal("cluster"),
      ...bound,
      /** `path` narrows the grant to a folder below the cluster's, e.g. `/shop/`. */
      rules: listOf(strictObject({ ...resourceGrant, path: longText.optional() })),
    }),
    strictObject({
      type: z.literal("namespace"),
      ...bound,
      namespace: nameText,
      rules: listOf(strictObject(resourceGrant)),
    }),
  ])
  .meta({ id: "ResourceRule" });

export type ResourceRule = z.infer<typeof resourceRuleShape>;
