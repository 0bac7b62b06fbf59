/** The kinds of objects that are sent to the hub as `kubernetes_resources`. Secrets and ConfigMaps are none of them. */

import type { ObjectCollection } from "../cluster/kubernetes-object.ts";

export interface InventoryKind extends ObjectCollection {
  /** Attribute of OpenTelemetry that names such an object. */
  nameKey?: string;
  /** True where the object makes pods: its name is that of their service. */
  isWorkload?: boolean;
}

export const inventoryKinds: readonly InventoryKind[] = [
  { apiVersion: "v1", kind: "Pod", plural: "pods", nameKey: "k8s.pod.name" },
  { apiVersion: "v1", kind: "Node", plural: "nodes", nameKey: "k8s.node.name" },
  { apiVersion: "v1", kind: "Service", plural: "services", nameKey: "k8s.service.name" },
  {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims" },
    nameKey: "k8s.persistentvolumeclaim.name",
  },
  { apiVersion: "v1", kind: "Event", plural: "events" },
  makeWorkload("apps/v1", "Deployment", "deployments"),
  makeWorkload("apps/v1", "StatefulSet", "statefulsets"),
  makeWorkload("apps/v1", "DaemonSet", "daemonsets"),
  makeWorkload("apps/v1", "ReplicaSet", "replicasets"),
  makeWorkload("batch/v1", "Job", "jobs"),
  makeWorkload("batch/v1", "CronJob", "cronjobs"),
  {
    ...{ apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", plural: "horizontalpodautoscalers" },
    nameKey: "k8s.hpa.name",
  },
];

function makeWorkload(apiVersion: string, kind: string, plural: string): InventoryKind {
  return { apiVersion, kind, plural, nameKey: `k8s.${kind.toLowerCase()}.name`, isWorkload: true };
}
