/** The nine kinds of custom resources (interface specification, section 2.5): their names and scopes. */

export const apiVersion = "v1alpha1";

export const apiGroups = {
  observability: "observability.svc.example",
  rbac: "rbac.svc.example",
} as const;

export interface CustomKind {
  kind: string;
  plural: string;
  group: keyof typeof apiGroups;
  scope: "Namespaced" | "Cluster";
  shortNames: readonly string[];
  /** Clusters in which it is applied: each monitored one, or the one that the hub runs in. */
  appliedTo: "monitored" | "hub";
}

export const customKinds = [
  {
    kind: "SvcAlert",
    plural: "svcalerts",
    group: "observability",
    scope: "Namespaced",
    shortNames: ["ma", "malert"],
    appliedTo: "monitored",
  },
  {
    kind: "SvcDashboard",
    plural: "svcdashboards",
    group: "observability",
    scope: "Namespaced",
    shortNames: ["md", "mdashboard"],
    appliedTo: "monitored",
  },
  {
    kind: "SvcWebhook",
    plural: "svcwebhooks",
    group: "observability",
    scope: "Namespaced",
    shortNames: ["mw", "mwebhook"],
    appliedTo: "monitored",
  },
  {
    kind: "SvcClusterIngestionRule",
    plural: "svcclusteringestionrules",
    group: "observability",
    scope: "Cluster",
    shortNames: ["mcingrule"],
    appliedTo: "monitored",
  },
  {
    group: "rbac",
    kind: "SvcGroup",
    plural: "svcgroups",
    scope: "Cluster",
    shortNames: ["mgroup"],
    appliedTo: "hub",
  },
  {
    group: "rbac",
    kind: "SvcNamespaceTelemetryRule",
    plural: "svcnamespacetelemetryrules",
    scope: "Namespaced",
    shortNames: ["mntelrule"],
    appliedTo: "monitored",
  },
  {
    group: "rbac",
    kind: "SvcClusterTelemetryRule",
    plural: "svcclustertelemetryrules",
    scope: "Cluster",
    shortNames: ["mctelrule"],
    appliedTo: "monitored",
  },
  {
    group: "rbac",
    kind: "SvcNamespaceResourceRule",
    plural: "svcnamespaceresourcerules",
    scope: "Namespaced",
    shortNames: ["mnresrule"],
    appliedTo: "monitored",
  },
  {
    group: "rbac",
    kind: "SvcClusterResourceRule",
    plural: "svcclusterresourcerules",
    scope: "Cluster",
    shortNames: ["mcresrule"],
    appliedTo: "monitored",
  },
] as const satisfies readonly CustomKind[];

export type KindName = (typeof customKinds)[number]["kind"];

/** The definition of a kind. */
export function customKind(name: KindName): CustomKind {
  return customKinds.find(({ kind }) => kind === name)!;
}
