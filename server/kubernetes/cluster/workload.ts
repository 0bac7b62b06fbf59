/** The workloads that pods belong to. */

import type { KubernetesObject } from "./kubernetes-object.ts";

/** Attributes of OpenTelemetry for the kinds of workloads. */
const workloadAttributes: Readonly<Record<string, string>> = {
  Deployment: "k8s.deployment.name",
  StatefulSet: "k8s.statefulset.name",
  DaemonSet: "k8s.daemonset.name",
  Job: "k8s.job.name",
  ReplicaSet: "k8s.replicaset.name",
};

/** The workload that made a pod, and the attribute of OpenTelemetry that names it; a replica set of a deployment counts as the deployment. */
export function findWorkload({ metadata }: KubernetesObject): {
  name: string;
  attribute: string | undefined;
} {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return { name: metadata.name, attribute: undefined };
  const hash = metadata.labels?.["pod-template-hash"];
  if (owner.kind === "ReplicaSet" && hash !== undefined && owner.name.endsWith(`-${hash}`)) {
    return { name: owner.name.slice(0, -hash.length - 1), attribute: workloadAttributes.Deployment };
  }
  return { name: owner.name, attribute: workloadAttributes[owner.kind] };
}
