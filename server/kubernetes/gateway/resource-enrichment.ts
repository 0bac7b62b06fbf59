/** What the gateway adds to a resource: the pod that sent it, and the name of its service in the cluster's form. */

import { serviceKey, serviceNameOf } from "../../ingest/service-name.ts";

/** A pod of the cluster, as the API server describes it. */
export interface PodIdentity {
  namespace: string;
  /** Name of its workload, without the hashes of replica sets and pods. */
  service: string;
  /** Attributes in OpenTelemetry's names: `k8s.pod.name`, `k8s.deployment.name`, … */
  attributes: Readonly<Record<string, string>>;
}

export interface PodLookup {
  byUid(uid: string): PodIdentity | undefined;
  byIp(address: string): PodIdentity | undefined;
}

/** The service name that the sender configured. */
const sentServiceKey = "otel.service.name";
/** Names in this form are the cluster's already. */
const enrichedPrefix = "/k8s/";

export interface Enrichment {
  /** Attributes that the resource lacks. */
  added: readonly (readonly [key: string, text: string])[];
  /** Replaces `service.name`; undefined leaves it as it is. */
  serviceName: string | undefined;
}

/**
 * Finds what a resource lacks. `attribute` returns its texts, undefined where it has none; `peer` is the address that the
 * body came from. A resource that names its pod is never taken for the pod of the connection, which may be a collector.
 */
export function findEnrichment(
  attribute: (key: string) => string | undefined,
  peer: string | undefined,
  pods: PodLookup,
): Enrichment {
  const pod = findPod(attribute, peer, pods);
  const added = Object.entries(pod?.attributes ?? {}).filter(([key]) => attribute(key) === undefined);
  const sent = attribute(serviceKey) ?? "";
  const named =
    pod === undefined
      ? serviceNameOf((key) => (key === serviceKey ? undefined : attribute(key)))
      : `${enrichedPrefix}${pod.namespace}/${pod.service}`;
  if (named === undefined || sent.startsWith(enrichedPrefix)) return { added, serviceName: undefined };
  if (sent !== "" && attribute(sentServiceKey) === undefined) added.push([sentServiceKey, sent]);
  return { added, serviceName: named };
}

function findPod(
  attribute: (key: string) => string | undefined,
  peer: string | undefined,
  pods: PodLookup,
): PodIdentity | undefined {
  const uid = attribute("k8s.pod.uid") ?? "";
  if (uid !== "") return pods.byUid(uid);
  const address = attribute("k8s.pod.ip") ?? "";
  if (address !== "") return pods.byIp(address);
  if (attribute("k8s.pod.name") !== undefined || peer === undefined) return undefined;
  return pods.byIp(peer);
}
