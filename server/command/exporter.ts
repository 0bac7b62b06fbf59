/** `svc exporter`: keeps the hub up to date with the Kubernetes cluster, or the node, that it runs in. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ConnectionSettings } from "../kubernetes/exporter-process.ts";
import { type Command, parseText, type Settings, takeLast } from "./flags/flag.ts";
import { kubernetesFlags, labelFlags, nodeFlags } from "./flags/kubernetes-flags.ts";
import { configFlag, dataFlag, refuseOperands, sizeFlag, switchFlag } from "./flags/shared-flags.ts";
import { parseHostPort, parseUrl, UsageError } from "./flags/units.ts";
import { limitStop, waitForStopSignal } from "./stop-signal.ts";

const flags = {
  hub: {
    placeholder: "URL",
    help: "the hub that the cluster belongs to",
    defaultText: "must be given",
    parse: takeLast(parseUrl),
  },
  "token-file": {
    placeholder: "FILE",
    help: "holds the token of the environment that is the cluster's name; read anew for each request",
    defaultText: "must be given",
    parse: takeLast(parseText),
  },
  kubeconfig: kubernetesFlags.kubeconfig,
  "secret-refs": {
    ...switchFlag,
    help: "answers the hub's questions for Secrets that webhooks of the cluster name",
  },
  ...labelFlags,
  "config-map-namespace": {
    placeholder: "NAME",
    help: "reads ConfigMaps of this namespace alone",
    defaultText: "of all",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map((text) => parseText(text)),
  },
  listen: {
    placeholder: "HOST:PORT",
    help: "where OTLP over HTTP of the cluster's workloads is taken",
    default: "0.0.0.0:4318",
    parse: takeLast(parseHostPort),
  },
  data: { ...dataFlag, help: "keeps telemetry while the hub is away", default: "./exporter-data" },
  "buffer-bytes": { ...sizeFlag, help: "disk space that such telemetry may take", default: "1GiB" },
  operations: {
    placeholder: "HOST:PORT",
    help: "where /healthz, /readyz and /metrics are served",
    default: "0.0.0.0:8081",
    parse: takeLast(parseHostPort),
  },
  ...nodeFlags,
  config: configFlag,
} as const;

export const exporter: Command<typeof flags> = {
  name: "exporter",
  summary: "keeps a hub up to date with a Kubernetes cluster",
  operands: "",
  output: "log",
  flags,
  details: [
    "Runs in the monitored cluster, once: takes the OTLP of its workloads, sends what its objects are, and keeps the",
    "hub up to date with the alerts, dashboards, webhooks and rules that are custom resources there. Their status says",
    "what the hub made of them.",
    "",
    "With --node it runs on each node instead: tails the logs of its containers, and reads its kubelet's metrics.",
  ],
  run: async (settings, operands) => {
    refuseOperands("exporter", operands);
    const { hub } = settings;
    const tokenFile = settings["token-file"];
    if (hub === null) throw new UsageError("exporter needs --hub URL");
    if (tokenFile === null) throw new UsageError("exporter needs --token-file FILE");
    const token = () => readFileSync(tokenFile, "utf8").trim();
    // A file that is missing from the start is a mistake, one that is being replaced is not.
    if (token() === "") throw new Error(`${tokenFile} is empty`);
    const shared = { hubUrl: hub.replace(/\/+$/, ""), token, log };
    return settings.node ? runOnNode(settings, shared) : runInCluster(settings, shared);
  },
};

interface Shared {
  hubUrl: string;
  token: () => string;
  log: (message: string) => void;
}

async function runInCluster(settings: Settings<typeof flags>, shared: Shared): Promise<number> {
  const { Exporter } = await import("../kubernetes/exporter-process.ts");
  const stopped = waitForStopSignal("what the hub was not sent yet is sent after the next start");
  const running = new Exporter({
    ...shared,
    connection: await connectionOf(settings),
    readsSecrets: settings["secret-refs"],
    configMaps: {
      alertSelector: settings["alert-label"],
      dashboardSelector: settings["dashboard-label"],
      namespaces: settings["config-map-namespace"] ?? [],
    },
    gateway: {
      listen: settings.listen,
      dir: resolve(settings.data, "gateway"),
      bufferBytesMax: settings["buffer-bytes"],
    },
    operations: settings.operations,
  });
  return closeAfter(running, async () => {
    await running.start();
    const { otlpPort, operationsPort } = running;
    print(
      `svc exporter follows the cluster; OTLP on port ${otlpPort}, health and metrics on ${operationsPort}`,
    );
    await stopped;
  });
}

async function runOnNode(settings: Settings<typeof flags>, shared: Shared): Promise<number> {
  const node = settings["node-name"] ?? process.env.NODE_NAME ?? "";
  if (node === "") throw new UsageError("exporter --node needs --node-name NAME, or the variable NODE_NAME");
  const { NodeExporter, readKubeletSettings } = await import("../kubernetes/exporter-process.ts");
  const stopped = waitForStopSignal("log lines that were not sent yet are sent after the next start");
  const connection = await connectionOf(settings);
  const kubelet = settings.kubelet ?? undefined;
  const trust = {
    caFile: settings["kubelet-ca"] ?? undefined,
    isInsecure: settings["kubelet-insecure"],
  };
  const running = await NodeExporter.start({
    ...shared,
    ...{ connection, node },
    podsDir: resolve(settings["pods-dir"]),
    linkTargets: settings["link-target"].map((dir) => resolve(dir)),
    dir: resolve(settings.data),
    bufferBytesMax: settings["buffer-bytes"],
    kubelet: kubelet === undefined ? undefined : readKubeletSettings(kubelet, connection, trust),
    operations: settings.operations,
  });
  return closeAfter(running, async () => {
    print(`svc exporter tails the logs of ${node}; health and metrics on port ${running.operationsPort}`);
    await Promise.race([stopped, running.running]);
  });
}

/**
 * Closes the exporter once `run` has ended or failed. After a failure, what stays open would keep the process alive and its
 * health good, and Kubernetes would not start it again.
 */
async function closeAfter(running: { close(): Promise<void> }, run: () => Promise<void>): Promise<number> {
  try {
    await run();
  } catch (error) {
    // No signal follows that would end a close that hangs.
    limitStop();
    await running.close();
    throw error;
  }
  await running.close();
  print("svc exporter has stopped");
  return 0;
}

async function connectionOf({ kubeconfig }: { kubeconfig: string | null }): Promise<ConnectionSettings> {
  const { readKubeconfig, readPodSettings } = await import("../kubernetes/exporter-process.ts");
  return kubeconfig === null ? readPodSettings() : readKubeconfig(kubeconfig);
}

function log(message: string): void {
  process.stderr.write(`${new Date().toISOString()} ${message}\n`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
