/** The nine kinds of custom resources (interface specification, section 2.5): names, scope, and the schema of `spec`. */

import type * as z from "zod";
import {
  alertSpec,
  clusterResourceRuleSpec,
  dashboardSpec,
  groupSpec,
  ingestionRuleSpec,
  namespaceResourceRuleSpec,
  telemetryRuleSpec,
  webhookSpec,
} from "./specs.ts";

export const apiVersion = "v1alpha1";

export const apiGroups = {
  observability: "observability.svc.example",
  rbac: "rbac.svc.example",
} as const;

/** A rule in CEL that a schema cannot express. */
export interface CelRule {
  rule: string;
  message: string;
}

/** What a CRD says of one field, beside its schema. Fields are named from `spec`: `rules[].signals`. */
export interface FieldExtension {
  field: string;
  /** Lists whose items do not repeat; or whose items have different values of a member. */
  list?: "set" | { key: string };
  rules?: readonly CelRule[];
}

export interface CustomKind {
  kind: string;
  plural: string;
  group: keyof typeof apiGroups;
  scope: "Namespaced" | "Cluster";
  shortNames: readonly string[];
  /** Clusters in which it is applied: each monitored one, or the one that the hub runs in. */
  appliedTo: "monitored" | "hub";
  spec: z.ZodType;
  extensions: readonly FieldExtension[];
}

const grantLists: readonly FieldExtension[] = [
  { field: "groups", list: "set" },
  { field: "rules[].signals", list: "set" },
  { field: "rules[].resources", list: "set" },
  { field: "rules[].verbs", list: "set" },
];

const rbac = { group: "rbac", extensions: grantLists } as const;

export const customKinds = [
  {
    kind: "SvcAlert",
    plural: "svcalerts",
    group: "observability",
    scope: "Namespaced",
    shortNames: ["ma", "malert"],
    appliedTo: "monitored",
    spec: alertSpec,
    extensions: [
      { field: "timeseries.evaluationRules", list: { key: "name" } },
      {
        field: "timeseries.evaluationRules[].static.persistenceSettings",
        rules: [
          {
            rule: "self.datapointsToAlarm <= self.datapointsInEvaluationWindow",
            message: "datapointsToAlarm must not be more than datapointsInEvaluationWindow",
          },
        ],
      },
    ],
  },
  {
    kind: "SvcDashboard",
    plural: "svcdashboards",
    group: "observability",
    scope: "Namespaced",
    shortNames: ["md", "mdashboard"],
    appliedTo: "monitored",
    spec: dashboardSpec,
    extensions: [{ field: "content.variables", list: { key: "name" } }],
  },
  {
    kind: "SvcWebhook",
    plural: "svcwebhooks",
    group: "observability",
    scope: "Namespaced",
    shortNames: ["mw", "mwebhook"],
    appliedTo: "monitored",
    spec: webhookSpec,
    extensions: [
      {
        field: "",
        rules: [
          {
            rule: "!(has(self.body) && size(self.body) > 0 && has(self.bodyFrom))",
            message: "body and bodyFrom exclude each other",
          },
          {
            rule: "!has(self.headers) || !has(self.headersFrom) || self.headers.all(name, !(name in self.headersFrom))",
            message: "headers and headersFrom must not name the same header",
          },
        ],
      },
      {
        field: "headers",
        rules: [
          {
            rule: "self.all(name, name.matches('^[A-Za-z0-9!#$%&\\'*+.^_`|~-]+$'))",
            message: "the keys must be names of headers",
          },
        ],
      },
      {
        field: "headersFrom",
        rules: [
          {
            rule: "self.all(name, name.matches('^[A-Za-z0-9!#$%&\\'*+.^_`|~-]+$'))",
            message: "the keys must be names of headers",
          },
        ],
      },
    ],
  },
  {
    kind: "SvcClusterIngestionRule",
    plural: "svcclusteringestionrules",
    group: "observability",
    scope: "Cluster",
    shortNames: ["mcingrule"],
    appliedTo: "monitored",
    spec: ingestionRuleSpec,
    extensions: [{ field: "rules[].signals", list: "set" }],
  },
  {
    ...rbac,
    kind: "SvcGroup",
    plural: "svcgroups",
    scope: "Cluster",
    shortNames: ["mgroup"],
    appliedTo: "hub",
    spec: groupSpec,
    extensions: [{ field: "oidcMappings", list: "set" }],
  },
  {
    ...rbac,
    kind: "SvcNamespaceTelemetryRule",
    plural: "svcnamespacetelemetryrules",
    scope: "Namespaced",
    shortNames: ["mntelrule"],
    appliedTo: "monitored",
    spec: telemetryRuleSpec,
  },
  {
    ...rbac,
    kind: "SvcClusterTelemetryRule",
    plural: "svcclustertelemetryrules",
    scope: "Cluster",
    shortNames: ["mctelrule"],
    appliedTo: "monitored",
    spec: telemetryRuleSpec,
  },
  {
    ...rbac,
    kind: "SvcNamespaceResourceRule",
    plural: "svcnamespaceresourcerules",
    scope: "Namespaced",
    shortNames: ["mnresrule"],
    appliedTo: "monitored",
    spec: namespaceResourceRuleSpec,
  },
  {
    ...rbac,
    kind: "SvcClusterResourceRule",
    plural: "svcclusterresourcerules",
    scope: "Cluster",
    shortNames: ["mcresrule"],
    appliedTo: "monitored",
    spec: clusterResourceRuleSpec,
    extensions: [
      ...grantLists,
      {
        field: "rules[].path",
        rules: [{ rule: "self.startsWith('/')", message: "path must begin with /" }],
      },
    ],
  },
] as const satisfies readonly CustomKind[];

export type KindName = (typeof customKinds)[number]["kind"];

/** The definition of a kind. */
export function customKind(name: KindName): CustomKind {
  return customKinds.find(({ kind }) => kind === name)!;
}
