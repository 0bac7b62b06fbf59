/** Makes samples for the server of what the kubelet and its cAdvisor measure. */

import { attributesOfPod, type FindPod } from "./pod-lookup.ts";
import type { TextSample } from "./prometheus-text.ts";

/** One sample, in the form that `POST /api/v1/ingest/metrics` takes. */
export interface SampleRow {
  timestamp: number;
  name: string;
  type: "gauge" | "counter";
  labels: Readonly<Record<string, string>>;
  /** A number, or the name of one that JSON has not. */
  value: number | string;
}

/** Paths of the kubelet that are read. */
export const kubeletPaths = ["/metrics/cadvisor", "/metrics/resource"] as const;
export type KubeletPath = (typeof kubeletPaths)[number];

/** Names that are kept of each path. */
export type MetricNames = Readonly<Record<KubeletPath, readonly string[]>>;

/**
 * What dashboards and alerts of Kubernetes ask for. Both paths have CPU and memory of containers: those of cAdvisor are
 * kept, since sums over both would be twice too large.
 */
export const defaultMetricNames: MetricNames = {
  "/metrics/cadvisor": [
    "container_cpu_usage_seconds_total",
    "container_cpu_cfs_periods_total",
    "container_cpu_cfs_throttled_periods_total",
    "container_cpu_cfs_throttled_seconds_total",
    "container_memory_working_set_bytes",
    "container_memory_usage_bytes",
    "container_memory_rss",
    "container_memory_cache",
    "container_memory_failcnt",
    "container_oom_events_total",
    "container_spec_cpu_period",
    "container_spec_cpu_quota",
    "container_spec_memory_limit_bytes",
    "container_network_receive_bytes_total",
    "container_network_receive_errors_total",
    "container_network_receive_packets_dropped_total",
    "container_network_transmit_bytes_total",
    "container_network_transmit_errors_total",
    "container_network_transmit_packets_dropped_total",
    "container_fs_reads_bytes_total",
    "container_fs_writes_bytes_total",
    "container_fs_usage_bytes",
    "container_fs_limit_bytes",
    "container_threads",
    "machine_cpu_cores",
    "machine_memory_bytes",
  ],
  "/metrics/resource": [
    "node_cpu_usage_seconds_total",
    "node_memory_working_set_bytes",
    "node_swap_usage_bytes",
    "container_start_time_seconds",
    "container_swap_usage_bytes",
  ],
};

/** Labels of cAdvisor that become others or say nothing more: paths of cgroups, ids of containers. */
const replacedLabels = new Set(["namespace", "pod", "container", "id", "name", "image"]);
const uidInCgroup = /pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice|\/|$)/;

/**
 * Returns the row of a sample; undefined for one that counts others again. cAdvisor measures every cgroup: besides
 * containers also pods, classes of quality and the whole node. Network belongs to pods.
 */
export function toSampleRow(
  sample: TextSample,
  nowMs: number,
  node: string,
  pods: FindPod,
): SampleRow | undefined {
  const { namespace = "", pod = "", container = "", id = "", image = "" } = sample.labels;
  const isContainer = container !== "" && container !== "POD" && pod !== "";
  const isOfPod = pod !== "" && sample.name.startsWith("container_network_");
  if (sample.name.startsWith("container_") && !isContainer && !isOfPod) return undefined;
  const labels: Record<string, string> = { "k8s.node.name": node };
  for (const key in sample.labels) if (!replacedLabels.has(key)) labels[key] = sample.labels[key]!;
  if (pod !== "" && namespace !== "") {
    const uid = uidInCgroup.exec(id)?.[1]?.replaceAll("_", "-");
    Object.assign(labels, attributesOfPod({ namespace, pod, uid }, pods({ namespace, pod, uid })));
  }
  if (isContainer) {
    labels["k8s.container.name"] = container;
    if (image !== "") labels["container.image.name"] = image;
  }
  return {
    timestamp: sample.timestampMs ?? nowMs,
    name: sample.name,
    type: sample.type === "counter" ? "counter" : "gauge",
    labels,
    value: toJsonNumber(sample.value),
  };
}

/** JSON has no infinite numbers: the server takes their names. */
function toJsonNumber(value: number): number | string {
  if (Number.isFinite(value)) return value;
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
