/** The part of the server that exporters of Kubernetes clusters talk to. */

import type { Part } from "../../api/part.ts";
import type { ControlPart } from "../../control/part.ts";
import type { ConnectionSettings } from "../cluster/connection-settings.ts";
import { ClusterRules } from "./cluster-rules.ts";
import { ExporterChannel } from "./exporter-channel.ts";
import { ManagedObjects } from "./managed-objects.ts";
import { OwnCluster } from "./own-cluster.ts";
import { hubRoutes } from "./routes.ts";

export interface KubernetesHubPart extends Part {
  channel: ExporterChannel;
}

/** How often a change of the ingestion rules is looked for; exporters that wait are told of it. */
const rulesCheckMs = 500;

export interface KubernetesSettings {
  /** How the cluster that the server itself runs in is reached: its groups are taken from there. */
  ownCluster?: ConnectionSettings | undefined;
  log: (level: "warn", message: string) => void;
}

export function kubernetesHubPart(
  { ownCluster, log }: KubernetesSettings,
  { collections, tokens }: Pick<ControlPart, "collections" | "tokens">,
): KubernetesHubPart {
  const listRules = () => collections.ingestionRules.list();
  const rules = new ClusterRules(listRules);
  const channel = new ExporterChannel({
    elapsed: () => performance.now(),
    rulesRevisionOf: (cluster) => rules.of(cluster).revision,
  });
  const objects = new ManagedObjects(collections);
  const hasToken = (id: string) => tokens.get(id) !== undefined;
  const own = ownCluster && new OwnCluster({ connection: ownCluster, objects, log, nowMs: Date.now });
  let timer: NodeJS.Timeout | undefined;
  let lastRules = listRules();
  return {
    channel,
    routes: hubRoutes({ objects, hasToken, channel, rules }),
    run: () => {
      own?.run();
      timer = setInterval(() => {
        const list = listRules();
        if (list !== lastRules) channel.wakeAll();
        lastRules = list;
      }, rulesCheckMs);
    },
    close: async () => {
      clearInterval(timer);
      channel.close();
      await own?.close();
    },
  };
}
