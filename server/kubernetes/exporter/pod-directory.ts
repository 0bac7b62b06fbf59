/** The pods of a cluster by uid and by address: what telemetry that names neither service nor namespace comes from. */

import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import type { ObjectWatcher } from "../cluster/object-watch.ts";
import { findWorkload } from "../cluster/workload.ts";
import type { PodIdentity, PodLookup } from "../gateway/resource-enrichment.ts";
import type { PodInfo, PodReference } from "../node/pod-lookup.ts";

interface PodSpec {
  nodeName?: string;
  hostNetwork?: boolean;
  containers?: { name: string }[];
}

interface PodStatus {
  phase?: string;
  podIP?: string;
  podIPs?: { ip: string }[];
}

interface KnownPod {
  uid: string;
  /** Namespace and name. */
  place: string;
  identity: PodIdentity;
  info: PodInfo;
  addresses: string[];
}

/** Its lists come in pages. */
export class PodDirectory implements PodLookup, ObjectWatcher {
  readonly #byUid = new Map<string, KnownPod>();
  readonly #byPlace = new Map<string, KnownPod>();
  readonly #byIp = new Map<string, KnownPod>();

  byUid(uid: string): PodIdentity | undefined {
    return this.#byUid.get(uid)?.identity;
  }

  byIp(address: string): PodIdentity | undefined {
    // Sockets that take both families show IPv4 addresses like this.
    return this.#byIp.get(address.replace(/^::ffff:/, ""))?.identity;
  }

  /** What the node agent is told. Static pods have another uid on their node than at the API server. */
  find({ namespace, pod, uid }: PodReference): PodInfo | undefined {
    const known = this.#byUid.get(uid ?? "") ?? this.#byPlace.get(`${namespace}/${pod}`);
    return known?.info;
  }

  listed(pods: KubernetesObject[]): void {
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#byUid.keys()) if (!uids.has(uid)) this.#forget(uid);
  }

  changed(pod: KubernetesObject): void {
    this.deleted(pod);
    const known = describePod(pod);
    this.#byUid.set(known.uid, known);
    this.#byPlace.set(known.place, known);
    for (const address of known.addresses) this.#byIp.set(address, known);
  }

  deleted({ metadata: { uid } }: KubernetesObject): void {
    this.#forget(uid);
  }

  #forget(uid: string): void {
    const known = this.#byUid.get(uid);
    if (known === undefined) return;
    this.#byUid.delete(uid);
    if (this.#byPlace.get(known.place) === known) this.#byPlace.delete(known.place);
    // An address may belong to another pod by now.
    for (const address of known.addresses) if (this.#byIp.get(address) === known) this.#byIp.delete(address);
  }
}

function describePod(pod: KubernetesObject): KnownPod {
  const { namespace = "", name, uid } = pod.metadata;
  const { nodeName, hostNetwork = false, containers = [] } = (pod.spec ?? {}) as PodSpec;
  const { phase, podIP, podIPs = [] } = (pod.status ?? {}) as PodStatus;
  const workload = findWorkload(pod);
  const [container] = containers;
  const attributes: Record<string, string> = {
    "k8s.namespace.name": namespace,
    "k8s.pod.name": name,
    "k8s.pod.uid": uid,
    ...(nodeName === undefined ? {} : { "k8s.node.name": nodeName }),
    ...(workload.attribute === undefined ? {} : { [workload.attribute]: workload.name }),
    ...(container !== undefined && containers.length === 1 ? { "k8s.container.name": container.name } : {}),
  };
  // Pods on their node's network share its address; pods that have ended have given theirs back.
  const hasAddress = !hostNetwork && phase !== "Succeeded" && phase !== "Failed";
  const addresses = [...new Set([podIP ?? "", ...podIPs.map(({ ip }) => ip)])].filter(Boolean);
  return {
    uid,
    place: `${namespace}/${name}`,
    info: {
      service: workload.name,
      labels: pod.metadata.labels ?? {},
      workload: workload.attribute === undefined ? {} : { [workload.attribute]: workload.name },
    },
    identity: { namespace, service: workload.name, attributes },
    addresses: hasAddress ? addresses : [],
  };
}
