/** `service.name` of what comes from Kubernetes without one: `/k8s/<namespace>/<service>`. */

const namespaceKey = "k8s.namespace.name";
export const serviceKey = "service.name";

/** What names the service, the first that is there: the workload rather than one of its pods. */
const workloadKeys = [
  "k8s.deployment.name",
  "k8s.statefulset.name",
  "k8s.daemonset.name",
  "k8s.cronjob.name",
  "k8s.job.name",
  "k8s.pod.name",
] as const;

/** OpenTelemetry's SDKs send this, or this with `:<process>` behind it, where nobody named the service. */
const unknownService = "unknown_service";

/**
 * The name to store, or undefined to leave what was sent: a plain name stays as it is, since its sender, its spans and other tools
 * know the service by it, and the row's namespace stands in `k8s.namespace.name`.
 */
export function serviceNameOf(attribute: (key: string) => string | undefined): string | undefined {
  const sent = attribute(serviceKey) ?? "";
  const isNamed = sent !== "" && sent !== unknownService && !sent.startsWith(`${unknownService}:`);
  const namespace = attribute(namespaceKey) ?? "";
  if (isNamed || namespace === "") return undefined;
  for (const key of workloadKeys) {
    const workload = attribute(key) ?? "";
    if (workload !== "") return `/k8s/${namespace}/${workload}`;
  }
  return undefined;
}

/** What agents that know nothing of OpenTelemetry's names call the same: promtail, Filebeat, Fluent Bit, and Loki's underscores. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  [serviceKey]: ["service_name"],
  [namespaceKey]: ["k8s_namespace_name", "kubernetes.namespace", "kubernetes.namespace_name", "namespace"],
  "k8s.deployment.name": [
    "k8s_deployment_name",
    "kubernetes.deployment.name",
    "kubernetes.labels.app",
    "app",
  ],
  "k8s.statefulset.name": ["k8s_statefulset_name", "kubernetes.statefulset.name"],
  "k8s.daemonset.name": ["k8s_daemonset_name", "kubernetes.daemonset.name"],
  "k8s.cronjob.name": ["k8s_cronjob_name", "kubernetes.cronjob.name"],
  "k8s.job.name": ["k8s_job_name", "kubernetes.job.name"],
  "k8s.pod.name": ["k8s_pod_name", "kubernetes.pod.name", "kubernetes.pod_name", "pod"],
};

/** As `serviceNameOf`, for attributes under any of those names; a service under another name is stored under `service.name` too. */
export function agentServiceName(attributes: Readonly<Record<string, string>>): string | undefined {
  const attribute = (key: string) => {
    const name = [key, ...(aliases[key] ?? [])].find((each) => (attributes[each] ?? "") !== "");
    return name === undefined ? undefined : attributes[name];
  };
  return (
    serviceNameOf(attribute) ?? (attributes[serviceKey] === undefined ? attribute(serviceKey) : undefined)
  );
}
