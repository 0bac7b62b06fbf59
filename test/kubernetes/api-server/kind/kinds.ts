/** The kinds that the API server serves without a custom resource definition. */
import type { Schema } from "./schema.ts";

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  /** Columns above 0 are shown by `-o wide` alone. */
  readonly priority?: number;
}

/** One served version of a resource. */
export interface ResourceKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly hasStatus: boolean;
  readonly hasGeneration: boolean;
  /** True where a PUT may leave `metadata.resourceVersion` out. */
  readonly allowsUnconditionalUpdate: boolean;
  /** Paths that field selectors may name besides `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly string[];
  readonly columns: readonly PrinterColumn[];
  readonly schema: Schema | undefined;
  /** The collection that holds the objects; two kinds may show one collection. */
  readonly collection: string;
  readonly isCustom: boolean;
}

/** `apps/v1`, or `v1` for the core group. */
export function groupVersion({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}

const age: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

function column(name: string, jsonPath: string, type = "string", priority = 0): PrinterColumn {
  return { name, type, jsonPath, priority };
}

const open: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const text: Schema = { type: "string" };
const texts: Schema = { type: "object", additionalProperties: text };
const count: Schema = { type: "integer" };

function fields(properties: Record<string, Schema>): Schema {
  return { type: "object", properties };
}

/** Strict schemas where a kind is small, else everything is kept as it came. */
const schemas: Record<string, Schema> = {
  ConfigMap: fields({ data: texts, binaryData: texts, immutable: { type: "boolean" } }),
  Secret: fields({ data: texts, stringData: texts, type: text, immutable: { type: "boolean" } }),
  Namespace: fields({
    spec: fields({ finalizers: { type: "array", items: text } }),
    status: fields({ phase: text, conditions: { type: "array", items: open } }),
  }),
  Lease: fields({
    spec: fields({
      holderIdentity: text,
      leaseDurationSeconds: { type: "integer", minimum: 1 },
      acquireTime: { type: "string", format: "date-time" },
      renewTime: { type: "string", format: "date-time" },
      leaseTransitions: count,
      strategy: text,
      preferredHolder: text,
    }),
  }),
  Event: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};

type Row = [
  names: string,
  scope: "Namespaced" | "Cluster",
  shape: { status?: true; noGeneration?: true; conditional?: true; all?: true },
  columns: readonly PrinterColumn[],
  selectable?: readonly string[],
];

const eventFields = [
  ...["involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid"],
  ...["reason", "type", "source", "reportingComponent"],
];
const eventColumns = [
  column("Last Seen", ".lastTimestamp", "date"),
  column("Type", ".type"),
  column("Reason", ".reason"),
  column("Object", ".involvedObject.name"),
  column("Message", ".message"),
];
const modernEventColumns = [
  column("Last Seen", ".deprecatedLastTimestamp", "date"),
  column("Type", ".type"),
  column("Reason", ".reason"),
  column("Object", ".regarding.name"),
  column("Message", ".note"),
];
const workloadColumns = [
  column("Ready", ".status.readyReplicas", "integer"),
  column("Desired", ".spec.replicas", "integer"),
  age,
];

/** Group and version: the kinds as `Kind plural short,names`, their scope, shape, columns and selectable fields. */
const rows: Record<string, readonly Row[]> = {
  v1: [
    [
      "Namespace namespaces ns",
      "Cluster",
      { status: true, noGeneration: true },
      [column("Status", ".status.phase"), age],
      ["status.phase"],
    ],
    ["Secret secrets", "Namespaced", { noGeneration: true }, [column("Type", ".type"), age], ["type"]],
    ["ConfigMap configmaps cm", "Namespaced", { noGeneration: true }, [age]],
    [
      "Pod pods po",
      "Namespaced",
      { status: true, all: true },
      [
        column("Status", ".status.phase"),
        column("IP", ".status.podIP", "string", 1),
        column("Node", ".spec.nodeName", "string", 1),
        age,
      ],
      ["spec.nodeName", "status.phase", "status.podIP", "spec.serviceAccountName"],
    ],
    [
      "Node nodes no",
      "Cluster",
      { status: true, noGeneration: true },
      [column("Version", ".status.nodeInfo.kubeletVersion"), age],
      ["spec.unschedulable"],
    ],
    [
      "Service services svc",
      "Namespaced",
      { status: true, noGeneration: true, all: true },
      [column("Type", ".spec.type"), column("Cluster-IP", ".spec.clusterIP"), age],
      ["spec.clusterIP", "spec.type"],
    ],
    ["Event events ev", "Namespaced", { noGeneration: true }, eventColumns, eventFields],
    ["ServiceAccount serviceaccounts sa", "Namespaced", { noGeneration: true }, [age]],
    [
      "PersistentVolumeClaim persistentvolumeclaims pvc",
      "Namespaced",
      { status: true, noGeneration: true },
      [column("Status", ".status.phase"), column("Volume", ".spec.volumeName"), age],
    ],
  ],
  "apps/v1": [
    ["Deployment deployments deploy", "Namespaced", { status: true, all: true }, workloadColumns],
    ["StatefulSet statefulsets sts", "Namespaced", { status: true, all: true }, workloadColumns],
    [
      "DaemonSet daemonsets ds",
      "Namespaced",
      { status: true, all: true },
      [
        column("Desired", ".status.desiredNumberScheduled", "integer"),
        column("Ready", ".status.numberReady", "integer"),
        age,
      ],
    ],
    ["ReplicaSet replicasets rs", "Namespaced", { status: true, all: true }, workloadColumns],
  ],
  "batch/v1": [
    [
      "Job jobs",
      "Namespaced",
      { status: true, all: true },
      [column("Succeeded", ".status.succeeded", "integer"), age],
      ["status.successful"],
    ],
    [
      "CronJob cronjobs cj",
      "Namespaced",
      { status: true, all: true },
      [column("Schedule", ".spec.schedule"), column("Suspend", ".spec.suspend", "boolean"), age],
    ],
  ],
  "autoscaling/v2": [
    [
      "HorizontalPodAutoscaler horizontalpodautoscalers hpa",
      "Namespaced",
      { status: true, all: true, noGeneration: true },
      [
        column("Reference", ".spec.scaleTargetRef.name"),
        column("Replicas", ".status.currentReplicas", "integer"),
        age,
      ],
    ],
  ],
  "coordination.k8s.io/v1": [
    [
      "Lease leases",
      "Namespaced",
      { noGeneration: true, conditional: true },
      [column("Holder", ".spec.holderIdentity"), age],
    ],
  ],
  "events.k8s.io/v1": [
    [
      "Event events ev",
      "Namespaced",
      { noGeneration: true },
      modernEventColumns,
      ["reason", "type", "regarding.kind", "regarding.name"],
    ],
  ],
  "discovery.k8s.io/v1": [
    ["EndpointSlice endpointslices", "Namespaced", {}, [column("AddressType", ".addressType"), age]],
  ],
  "rbac.authorization.k8s.io/v1": [
    ["Role roles", "Namespaced", { noGeneration: true }, [age]],
    ["RoleBinding rolebindings", "Namespaced", { noGeneration: true }, [age]],
    ["ClusterRole clusterroles", "Cluster", { noGeneration: true }, [age]],
    ["ClusterRoleBinding clusterrolebindings", "Cluster", { noGeneration: true }, [age]],
  ],
  "networking.k8s.io/v1": [["NetworkPolicy networkpolicies netpol", "Namespaced", {}, [age]]],
  "policy/v1": [["PodDisruptionBudget poddisruptionbudgets pdb", "Namespaced", { status: true }, [age]]],
  "apiextensions.k8s.io/v1": [
    [
      "CustomResourceDefinition customresourcedefinitions crd,crds",
      "Cluster",
      { status: true, conditional: true },
      [{ name: "Created At", type: "date", jsonPath: ".metadata.creationTimestamp" }],
    ],
  ],
};

/** Every kind that is served from the start. */
export function listBuiltInKinds(): ResourceKind[] {
  return Object.entries(rows).flatMap(([at, of]) => of.map((row) => toKind(at, row)));
}

function toKind(at: string, [names, scope, shape, columns, selectableFields = []]: Row): ResourceKind {
  const [kind, plural, shortNames] = names.split(" ") as [string, string, string | undefined];
  const [group, version] = at.includes("/") ? (at.split("/") as [string, string]) : ["", at];
  // Both groups of events show the objects of the core group.
  const collection = plural === "events" ? "events" : `${plural}.${group}`;
  return {
    ...{ group, version, plural, kind, columns, selectableFields, collection, isCustom: false },
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    namespaced: scope === "Namespaced",
    shortNames: shortNames?.split(",") ?? [],
    categories: shape.all === true ? ["all"] : [],
    hasStatus: shape.status === true,
    hasGeneration: shape.noGeneration !== true,
    allowsUnconditionalUpdate: shape.conditional !== true,
    schema: schemas[kind],
  };
}
