/** The process `svc exporter`: keeps the hub up to date with one cluster. */

import { type Labels, Metrics } from "../../metrics/metrics.ts";
import { ApiClient } from "../cluster/api-client.ts";
import type { ConnectionSettings } from "../cluster/connection-settings.ts";
import { Gateway } from "../gateway/gateway.ts";
import { OtlpListener } from "../gateway/otlp-listener.ts";
import { Inventory } from "../inventory/inventory.ts";
import { ClusterSync, type ClusterSyncOptions } from "./cluster-sync.ts";
import { HubChannel } from "./hub-channel.ts";
import { HubClient } from "./hub-client.ts";
import { OperationsServer } from "./operations-server.ts";
import { PodDirectory } from "./pod-directory.ts";
import { RuleUpdates } from "./rule-updates.ts";
import type { SecretReader } from "./secret-reader.ts";

interface GatewaySettings {
  /** Where OTLP over HTTP is taken. */
  listen: { host: string; port: number };
  /** Keeps what the hub cannot take now. */
  dir: string;
  bufferBytesMax?: number;
}

export interface ExporterOptions extends Pick<ClusterSyncOptions, "configMaps" | "relistMs"> {
  connection: ConnectionSettings;
  /** Base address of the hub. */
  hubUrl: string;
  /** Reads the token of the cluster's environment, anew for each request. */
  token: () => string;
  /** True where the exporter answers the hub's questions for Secrets. */
  readsSecrets: boolean;
  /** Takes OTLP of the cluster's workloads; absent where it takes none. */
  gateway?: GatewaySettings;
  /** Where health and metrics are served; nowhere where it is absent. */
  operations?: { host: string; port: number };
  /** Time between full states of the inventory, in milliseconds; an hour where it is absent. */
  stateMs?: number;
  log: (message: string) => void;
}

export class Exporter {
  readonly #options: ExporterOptions;
  readonly #client: ApiClient;
  readonly #hub: HubClient;
  readonly #sync: ClusterSync;
  readonly #channel: HubChannel;
  readonly #rules: RuleUpdates;
  readonly #operations: OperationsServer;
  readonly #metrics = new Metrics();
  #gateway: Gateway | undefined;
  #listener: OtlpListener | undefined;
  #inventory: Inventory | undefined;
  /** Where OTLP over HTTP is taken; 0 where it is not. */
  otlpPort = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    const { connection, hubUrl, token, readsSecrets, log } = options;
    this.#client = new ApiClient(connection);
    this.#hub = new HubClient({ url: hubUrl, token });
    const random = Math.random;
    this.#sync = new ClusterSync({
      ...options,
      appliedTo: "monitored",
      client: this.#client,
      hub: this.#hub,
      nowMs: Date.now,
      random,
    });
    this.#rules = new RuleUpdates({
      hub: this.#hub,
      onRules: (rules) => void this.#gateway?.setRules(rules),
      log,
    });
    this.#channel = new HubChannel({
      hub: this.#hub,
      readSecret: readsSecrets ? (secret) => this.#sync.secrets.read(secret) : undefined,
      onSynchronise: () => this.#sync.synchronise(),
      onRules: () => this.#rules.fetch(),
      ...{ random, log },
    });
    this.#operations = new OperationsServer({
      findProblem: () => (this.#sync.isReady ? undefined : "the objects are being listed"),
      metrics: () => this.#metrics.text(),
    });
    this.#describe();
  }

  /** Begins to follow the cluster. Resolves when health is served. Where it rejects, `close` ends what had begun. */
  async start(): Promise<void> {
    const { operations } = this.#options;
    if (operations !== undefined) await this.#operations.listen(operations);
    await this.#startGateway();
    this.#rules.fetch();
    this.#sync.run();
    this.#channel.run();
  }

  async #startGateway(): Promise<void> {
    const { gateway: settings, hubUrl, token, log, stateMs } = this.#options;
    if (settings === undefined) return;
    const { dir, listen, bufferBytesMax } = settings;
    const pods = new PodDirectory();
    const gateway = await Gateway.open({
      dir,
      hub: { url: new URL(hubUrl), token },
      // The hub has chosen the rules of this cluster already.
      cluster: "",
      pods,
      metrics: this.#metrics,
      log: (_, message) => log(message),
      ...(bufferBytesMax === undefined ? {} : { bufferBytesMax }),
    });
    this.#gateway = gateway;
    this.#inventory = new Inventory({
      client: this.#client,
      dir,
      send: (batch) => gateway.acceptRows(batch, false),
      findService: (uid) => pods.byUid(uid)?.service,
      podWatcher: pods,
      nowMs: Date.now,
      random: Math.random,
      log,
      ...(stateMs === undefined ? {} : { stateMs }),
    });
    this.#inventory.run();
    gateway.run();
    this.#listener = new OtlpListener(gateway);
    this.otlpPort = await this.#listener.listen(listen.port, listen.host);
  }

  /** The port that health and metrics are served on; 0 where they are not. */
  get operationsPort(): number {
    return this.#operations.port;
  }

  /** True where the hub has all that the cluster has, and the statuses say so. */
  get isSettled(): boolean {
    return this.#sync.isReady && this.#sync.waiting === 0 && this.#sync.statusesWaiting === 0;
  }

  /** Reads the Secrets that the cluster's webhooks name. */
  get secrets(): SecretReader {
    return this.#sync.secrets;
  }

  /** Lists everything and sends all of it to the hub, now. */
  synchronise(): void {
    this.#sync.synchronise();
  }

  async close(): Promise<void> {
    this.#rules.close();
    this.#operations.close();
    await this.#listener?.close();
    await this.#inventory?.close();
    await this.#gateway?.close();
    await Promise.all([this.#sync.close(), this.#channel.close()]);
    this.#hub.close();
    this.#client.close();
  }

  #describe(): void {
    const metrics = this.#metrics;
    metrics.gauge(
      "svc_exporter_objects_waiting",
      "Objects and lists that the hub was not sent yet.",
      () => this.#sync.waiting,
    );
    metrics.gauge(
      "svc_exporter_statuses_waiting",
      "Statuses that were not written yet.",
      () => this.#sync.statusesWaiting,
    );
    metrics.gauge("svc_exporter_watch_up", "Whether a collection of objects is followed.", () => [
      ...this.#sync.describe().map(({ plural, selector, problem }) => upOf(plural, selector, problem)),
      ...(this.#inventory?.describe() ?? []).map(({ plural, problem }) => upOf(plural, "", problem)),
    ]);
    metrics.gauge(
      "svc_exporter_ingestion_rules",
      "Ingestion rules of the cluster, as the hub has them.",
      () => this.#rules.count,
    );
    metrics.gauge("svc_exporter_inventory_objects", "Objects of the cluster, by kind.", () =>
      (this.#inventory?.describe() ?? []).map(({ plural, objects }) => [{ resource: plural }, objects]),
    );
    metrics.gauge(
      "svc_exporter_inventory_rows",
      "Rows of objects since the start: sent, or dropped since too much waited.",
      () => Object.entries(this.#inventory?.counts ?? {}).map(([outcome, rows]) => [{ outcome }, rows]),
    );
  }
}

function upOf(resource: string, selector: string, problem: string | undefined): [Labels, number] {
  return [{ resource, selector }, problem === undefined ? 1 : 0];
}
