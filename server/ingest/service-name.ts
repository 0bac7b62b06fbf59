/** Derives `service.name` for telemetry from Kubernetes that has none: `/k8s/<namespace>/<service>`. */

const namespaceKey = "k8s.namespace.name";
export const serviceKey = "service.name";

/** Attributes that name the service, the first present one wins: the workload before one of its pods. */
const workloadKeys = [
  "k8s.deployment.name",
  "k8s.statefulset.name",
  "k8s.daemonset.name",
  "k8s.cronjob.name",
  "k8s.job.name",
  "k8s.pod.name",
] as const;

/** OpenTelemetry's SDKs send this, or this followed by `:<process>`, where no service name was configured. */
const unknownService = "unknown_service";

/**
 * Returns the name to store, or undefined to keep what was sent. A configured name is kept, since the sender, its spans
 * and other tools use it for the service, and the namespace is in `k8s.namespace.name` anyway.
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

/** Other names of these attributes: promtail's, Filebeat's and Fluent Bit's, and Loki's with underscores. */
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

/** Names of the service in documents of journald and syslog-ng. */
export const syslogServiceNames = ["SYSLOG_IDENTIFIER", "PROGRAM"] as const;

/** The names of a service that has one, of its namespace, and of what else it may be named after. */
export function listServiceNames(serviceNames: readonly string[]): ServiceNames {
  return {
    service: [...namesOf(serviceKey), ...serviceNames],
    namespace: namesOf(namespaceKey),
    workloads: workloadKeys.map(namesOf),
  };
}

interface ServiceNames {
  service: readonly string[];
  namespace: readonly string[];
  workloads: readonly (readonly string[])[];
}

function namesOf(key: string): readonly string[] {
  return [key, ...(aliases[key] ?? [])];
}

/**
 * Like `serviceNameOf`, for attributes under any of those names. A service name under another key, also one of
 * `serviceNames`, is copied to `service.name`.
 */
export function agentServiceName(
  attributes: Readonly<Record<string, string>>,
  serviceNames: readonly string[] = [],
): string | undefined {
  const attribute = (key: string) => {
    const names = [...namesOf(key), ...(key === serviceKey ? serviceNames : [])];
    const name = names.find((each) => (attributes[each] ?? "") !== "");
    return name === undefined ? undefined : attributes[name];
  };
  return (
    serviceNameOf(attribute) ?? (attributes[serviceKey] === undefined ? attribute(serviceKey) : undefined)
  );
}
