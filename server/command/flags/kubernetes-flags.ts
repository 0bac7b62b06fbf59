/** Flags of `svc serve` for the Kubernetes cluster that it runs in. */

import type { ConnectionSettings } from "../../kubernetes/exporter-process.ts";
import { parseText, type Settings, takeLast } from "./flag.ts";
import { switchFlag } from "./shared-flags.ts";
import { parseUrl, UsageError } from "./units.ts";

export const kubernetesFlags = {
  kubernetes: {
    ...switchFlag,
    help: "takes groups from the SvcGroup objects of the cluster that the server runs in",
  },
  kubeconfig: {
    placeholder: "FILE",
    help: "reaches the cluster from outside, with the file's current context",
    defaultText: "the service account of the pod",
    parse: takeLast(parseText),
  },
} as const;

const selector = {
  placeholder: "KEY=VALUE",
  parse: takeLast((text: string) => {
    if (!/^[A-Za-z0-9][-A-Za-z0-9_./]{0,315}=[-A-Za-z0-9_.]{0,63}$/.test(text))
      throw new UsageError("a label such as svc.example/dashboard=true");
    return text;
  }),
} as const;

/** The labels by which ConfigMaps are known. */
export const labelFlags = {
  "alert-label": {
    ...selector,
    help: "the label of ConfigMaps that hold alerts",
    default: "svc.example/alert=true",
  },
  "dashboard-label": {
    ...selector,
    help: "the label of ConfigMaps that hold dashboards",
    default: "svc.example/dashboard=true",
  },
} as const;

/** Flags of `svc exporter` for the agent of a node. */
export const nodeFlags = {
  node: {
    ...switchFlag,
    help: "is the agent of one node: tails its containers' logs, reads its kubelet's metrics",
  },
  "node-name": {
    placeholder: "NAME",
    help: "the node's name",
    defaultText: "$NODE_NAME",
    parse: takeLast(parseText),
  },
  "pods-dir": {
    placeholder: "DIR",
    help: "the node's folder with the logs of all pods",
    default: "/var/log/pods",
    parse: takeLast(parseText),
  },
  "link-target": {
    placeholder: "DIR",
    help: "a folder that log files may be links into, besides --pods-dir",
    default: "/var/lib/docker/containers",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map((text) => parseText(text)),
  },
  kubelet: {
    placeholder: "URL",
    help: "the node's kubelet, such as https://10.0.0.7:10250",
    defaultText: "none: no metrics are read",
    parse: takeLast(parseUrl),
  },
  "kubelet-ca": {
    placeholder: "FILE",
    help: "the authority of the kubelet's certificate",
    defaultText: "that of the cluster",
    parse: takeLast(parseText),
  },
  "kubelet-insecure": {
    ...switchFlag,
    help: "takes any certificate of the kubelet: many clusters give it one of its own",
  },
} as const;

/** How the server's own cluster is reached. Throws an Error for people where it cannot be. */
export async function kubernetesSettings(
  settings: Settings<typeof kubernetesFlags>,
): Promise<ConnectionSettings | undefined> {
  if (!settings.kubernetes) return undefined;
  const { readKubeconfig, readPodSettings } = await import("../../kubernetes/exporter-process.ts");
  return settings.kubeconfig === null ? readPodSettings() : readKubeconfig(settings.kubeconfig);
}
