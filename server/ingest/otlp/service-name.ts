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
