/** Follows the custom resources and labelled ConfigMaps of a cluster, and keeps the hub and their statuses up to date. */

import type { ApiClient } from "../cluster/api-client.ts";
import type { KubernetesObject, ObjectCollection } from "../cluster/kubernetes-object.ts";
import { ObjectWatch, type ObjectWatcher } from "../cluster/object-watch.ts";
import { apiGroups, apiVersion, type CustomKind, customKinds } from "../resources/custom-kinds.ts";
import type { ConfigMapKind } from "./config-map-documents.ts";
import { ConfigMapSync } from "./config-map-sync.ts";
import { EventRecorder } from "./event-recorder.ts";
import type { AppliedObject, HubClient } from "./hub-client.ts";
import { resendMs } from "./limits.ts";
import { type ClusterObject, ObjectSync } from "./object-sync.ts";
import { SecretReader } from "./secret-reader.ts";
import { StatusWriter } from "./status-writer.ts";

export interface ClusterSyncOptions {
  client: ApiClient;
  hub: Pick<HubClient, "apply" | "remove" | "sweep">;
  /** Which kinds are followed: those of monitored clusters, or those of the hub's own. */
  appliedTo: CustomKind["appliedTo"];
  /** Which ConfigMaps are read; none where it is undefined. */
  configMaps: ConfigMapSettings | undefined;
  nowMs: () => number;
  random: () => number;
  log: (message: string) => void;
  /** Time between complete lists; ten minutes where it is absent. */
  relistMs?: number;
}

interface ConfigMapSettings {
  /** Label selectors of the ConfigMaps that hold alerts and dashboards. */
  alertSelector: string;
  dashboardSelector: string;
  /** Namespaces whose ConfigMaps are read; all where the list is empty. */
  namespaces: readonly string[];
}

const collections = customKinds.map(({ kind, plural, group, appliedTo }) => {
  const collection: ObjectCollection = { apiVersion: `${apiGroups[group]}/${apiVersion}`, kind, plural };
  return { ...collection, appliedTo };
});

export class ClusterSync {
  readonly #options: ClusterSyncOptions;
  readonly #sync: ObjectSync;
  readonly #statuses: StatusWriter;
  readonly #events: EventRecorder;
  readonly #watches: ObjectWatch[];
  /** Reads the Secrets that the cluster's webhooks name. */
  readonly secrets: SecretReader;

  constructor(options: ClusterSyncOptions) {
    this.#options = options;
    const { client, hub, random, log } = options;
    this.#events = new EventRecorder(options);
    this.secrets = new SecretReader(client);
    this.#statuses = new StatusWriter({
      ...options,
      collectionOf: (kind) => collections.find((each) => each.kind === kind),
    });
    this.#sync = new ObjectSync({
      ...{ hub, random, log },
      onOutcome: (object, applied, problem) => this.#report(object, applied, problem),
    });
    this.#watches = [
      ...collections
        .filter(({ appliedTo }) => appliedTo === options.appliedTo)
        .map((collection) => this.#follow(collection, this.#watcherOf(collection))),
      ...this.#followConfigMaps("ConfigMapAlert", options.configMaps?.alertSelector),
      ...this.#followConfigMaps("ConfigMapDashboard", options.configMaps?.dashboardSelector),
    ];
  }

  run(): void {
    for (const watch of this.#watches) watch.run();
  }

  /** Lists everything and sends all of it to the hub, now. */
  synchronise(): void {
    for (const watch of this.#watches) watch.relist();
  }

  /** True once each collection was listed, or has said why it cannot be. */
  get isReady(): boolean {
    return this.#watches.every((watch) => watch.hasListed || watch.problem !== undefined);
  }

  /** Objects that the hub was not sent yet. */
  get waiting(): number {
    return this.#sync.waiting;
  }

  /** Statuses that were not written yet. */
  get statusesWaiting(): number {
    return this.#statuses.waiting;
  }

  /** Each followed collection and why it is not followed at the moment. */
  describe(): { plural: string; selector: string; problem: string | undefined }[] {
    return this.#watches.map(({ collection, problem }) => {
      const { plural, labelSelector = "" } = collection;
      return { plural, selector: labelSelector, problem };
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.close()));
    await this.#sync.close();
    this.#statuses.close();
  }

  #follow(collection: ObjectCollection, watcher: ObjectWatcher): ObjectWatch {
    const { client, random, log, relistMs } = this.#options;
    const every = relistMs === undefined ? {} : { relistMs };
    return new ObjectWatch({ client, collection, watcher, random, log, ...every });
  }

  #followConfigMaps(kind: ConfigMapKind, labelSelector: string | undefined): ObjectWatch[] {
    const { namespaces = [] } = this.#options.configMaps ?? {};
    if (labelSelector === undefined) return [];
    const sync = new ConfigMapSync({ kind, sync: this.#sync, events: this.#events });
    const maps = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", labelSelector };
    if (namespaces.length === 0) return [this.#follow(maps, sync.makeWatcher())];
    return namespaces.map((namespace) => this.#follow({ ...maps, namespace }, sync.makeWatcher()));
  }

  #watcherOf({ kind, apiVersion }: ObjectCollection): ObjectWatcher {
    const secrets = kind === "SvcWebhook" ? this.secrets : undefined;
    let sentAtMs = performance.now();
    return {
      listed: (objects, isRequested) => {
        secrets?.listed(objects);
        // The hub may have lost what it had, such as by a backup that was restored.
        const again = isRequested || performance.now() - sentAtMs > resendMs;
        if (again) sentAtMs = performance.now();
        const present = objects.map((object) => toClusterObject(object, apiVersion));
        this.#sync.listed(kind, present, { again });
      },
      changed: (object) => {
        secrets?.changed(object);
        this.#sync.changed(toClusterObject(object, apiVersion));
      },
      deleted: (object) => {
        secrets?.deleted(object);
        this.#statuses.forget(object.metadata.uid);
        const { namespace, name } = object.metadata;
        this.#sync.deleted({ kind, name, ...(namespace === undefined ? {} : { namespace }) });
      },
    };
  }

  #report(object: ClusterObject, applied: AppliedObject | undefined, problem?: string): void {
    const { kind, subject } = object;
    const hasStatus = collections.some((each) => each.kind === kind);
    const outcome = { applied, ...(problem === undefined ? {} : { problem }) };
    if (hasStatus) this.#statuses.take(object, outcome);
    if (applied === undefined || applied.reason === "Synced" || subject === undefined) return;
    this.#events.warn(subject, applied.reason, applied.message.split("\n", 1)[0]!);
  }
}

function toClusterObject(
  { kind = "", metadata, spec, status }: KubernetesObject,
  version: string,
): ClusterObject {
  const { namespace, name, uid, generation } = metadata;
  return {
    ...{ kind, spec, status },
    metadata: { name, uid, namespace, generation },
    subject: { apiVersion: version, kind, namespace, name, uid },
  };
}
