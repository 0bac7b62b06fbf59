/** The cluster that the hub itself runs in: its groups, kept as its objects say without any exporter. */

import { Failure } from "../../../engine/index.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { ApiClient } from "../cluster/api-client.ts";
import type { ConnectionSettings } from "../cluster/connection-settings.ts";
import { ClusterSync } from "../exporter/cluster-sync.ts";
import { HubError } from "../exporter/hub-client.ts";
import { ownClusterName } from "./limits.ts";
import type { ManagedObjects, SentName, SentObject } from "./managed-objects.ts";
import type { SyncedKindName } from "./synced-kinds.ts";

export interface OwnClusterOptions {
  connection: ConnectionSettings;
  objects: ManagedObjects;
  nowMs: () => number;
  log: (level: "warn", message: string) => void;
}

export class OwnCluster {
  readonly #client: ApiClient;
  readonly #sync: ClusterSync;

  constructor({ connection, objects, nowMs, log }: OwnClusterOptions) {
    this.#client = new ApiClient(connection);
    this.#sync = new ClusterSync({
      client: this.#client,
      appliedTo: "hub",
      configMaps: undefined,
      hub: {
        apply: (sent) => attempt(objects.apply(ownClusterName, sent as SentObject[])),
        remove: async (names) => void (await attempt(objects.remove(ownClusterName, names as SentName[]))),
        sweep: (kind, kept, range) =>
          attempt(objects.sweep(ownClusterName, kind as SyncedKindName, kept, range)),
      },
      random: Math.random,
      log: (message) => log("warn", `the hub's own cluster: ${message}`),
      nowMs,
    });
  }

  run(): void {
    this.#sync.run();
  }

  async close(): Promise<void> {
    await this.#sync.close();
    this.#client.close();
  }
}

/** What the store cannot take now is tried again, as if a hub far away had said so. */
async function attempt<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Refusal || error instanceof Failure) throw new HubError(error.message, 503);
    throw error;
  }
}
