/** What the agent is told about pods, and the attributes that follow. */

import { podLabelsMax } from "./limits.ts";

/** A pod as far as its name is known: the kubelet's metrics do not always name the uid. */
export interface PodReference {
  namespace: string;
  pod: string;
  uid: string | undefined;
}

export interface PodInfo {
  /** Name of the service, without the namespace. */
  service: string | undefined;
  labels: Readonly<Record<string, string>>;
  /** The attribute that names its workload: `k8s.deployment.name`, … */
  workload: Readonly<Record<string, string>>;
}

/**
 * Returns what is known of a pod, undefined where nothing is known yet. The same object as long as nothing has
 * changed.
 */
export type FindPod = (pod: PodReference) => PodInfo | undefined;

/** Attributes of a pod's rows. Without a known service the pod's name stands for it, as on the server. */
export function attributesOfPod(
  { namespace, pod, uid }: PodReference,
  info: PodInfo | undefined,
): Record<string, string> {
  const attributes: Record<string, string> = {
    "service.name": `/k8s/${namespace}/${info?.service ?? pod}`,
    "k8s.namespace.name": namespace,
    "k8s.pod.name": pod,
    ...info?.workload,
  };
  if (uid !== undefined) attributes["k8s.pod.uid"] = uid;
  for (const [key, value] of Object.entries(info?.labels ?? {}).slice(0, podLabelsMax)) {
    attributes[`k8s.pod.label.${key}`] = value;
  }
  return attributes;
}
