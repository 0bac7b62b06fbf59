/** The process `svc exporter --node`: sends the logs of one node's containers, and its kubelet's metrics, to the hub. */

import { join } from "node:path";
import { type Labels, Metrics } from "../../metrics/metrics.ts";
import { ApiClient } from "../cluster/api-client.ts";
import type { ConnectionSettings } from "../cluster/connection-settings.ts";
import { ObjectWatch } from "../cluster/object-watch.ts";
import { pause } from "../cluster/pause.ts";
import { Gateway } from "../gateway/gateway.ts";
import { NodeAgent } from "../node/node-agent.ts";
import { HubClient } from "./hub-client.ts";
import { podsPollMs, podsWaitMsMax } from "./limits.ts";
import { OperationsServer } from "./operations-server.ts";
import { PodDirectory } from "./pod-directory.ts";
import { RuleUpdates } from "./rule-updates.ts";
import { logOnce } from "./sparse-log.ts";

export interface NodeExporterOptions {
  connection: ConnectionSettings;
  /** Base address of the hub. */
  hubUrl: string;
  /** Reads the token of the cluster's environment, anew for each request. */
  token: () => string;
  node: string;
  /** Folder of the logs of all pods. */
  podsDir: string;
  /** Folders besides it that log files may be links into. */
  linkTargets: readonly string[];
  /** Keeps positions in files, and what the hub cannot take now. */
  dir: string;
  bufferBytesMax?: number;
  /** The node's kubelet; undefined where no metrics are read. */
  kubelet: ConnectionSettings | undefined;
  operations: { host: string; port: number };
  log: (message: string) => void;
  /** Replaces the time between two reads of the kubelet, in milliseconds. */
  scrapeMs?: number;
}

export class NodeExporter {
  readonly #client: ApiClient;
  readonly #kubelet: ApiClient | undefined;
  readonly #pods: ObjectWatch;
  readonly #hub: HubClient;
  readonly #rules: RuleUpdates;
  readonly #gateway: Gateway;
  readonly #agent: NodeAgent;
  readonly #operations: OperationsServer;
  readonly #metrics: Metrics;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;

  private constructor(options: NodeExporterOptions, gateway: Gateway, pods: PodDirectory, metrics: Metrics) {
    const { connection, hubUrl, token, node, log, kubelet } = options;
    this.#gateway = gateway;
    this.#metrics = metrics;
    this.#client = new ApiClient(connection);
    this.#kubelet = kubelet && new ApiClient(kubelet);
    this.#pods = new ObjectWatch({
      client: this.#client,
      collection: { apiVersion: "v1", kind: "Pod", plural: "pods", fieldSelector: `spec.nodeName=${node}` },
      watcher: pods,
      random: Math.random,
      log,
      isPaged: true,
    });
    this.#hub = new HubClient({ url: hubUrl, token });
    this.#rules = new RuleUpdates({
      hub: this.#hub,
      onRules: (rules) => void gateway.setRules(rules),
      log,
    });
    this.#agent = makeAgent(options, gateway, pods, this.#kubelet);
    this.#operations = new OperationsServer({
      findProblem: () => this.#pods.problem,
      metrics: () => this.#metrics.text(),
    });
    this.#describe();
  }

  /** Throws where the folder for what waits, or the port, cannot be used. */
  static async start(options: NodeExporterOptions): Promise<NodeExporter> {
    const { dir, hubUrl, token, bufferBytesMax } = options;
    const log = logOnce(options.log, () => performance.now());
    const pods = new PodDirectory();
    const metrics = new Metrics();
    const gateway = await Gateway.open({
      dir: join(dir, "gateway"),
      hub: { url: new URL(hubUrl), token },
      // The hub has chosen the rules of this cluster already.
      cluster: "",
      ...{ pods, metrics },
      log: (_, message) => log(message),
      ...(bufferBytesMax === undefined ? {} : { bufferBytesMax }),
    });
    const exporter = new NodeExporter({ ...options, log }, gateway, pods, metrics);
    try {
      await exporter.#operations.listen(options.operations);
    } catch (error) {
      await exporter.close();
      throw error;
    }
    exporter.#pods.run();
    gateway.run();
    void exporter.#rules.poll();
    exporter.#running = exporter.#run();
    return exporter;
  }

  /** Rows bear the service of their pod, so the pods of the node are waited for, but not for ever. */
  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const endMs = performance.now() + podsWaitMsMax;
    while (!this.#pods.hasListed && !signal.aborted && performance.now() < endMs)
      await pause(podsPollMs, signal);
    if (!signal.aborted) await this.#agent.run();
  }

  /** The port that health and metrics are served on. */
  get operationsPort(): number {
    return this.#operations.port;
  }

  /** Resolves after `close`. Rejects where positions in files cannot be kept. */
  get running(): Promise<void> {
    return this.#running!;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#agent.close();
    this.#rules.close();
    this.#operations.close();
    await this.#gateway.close();
    await this.#pods.close();
    this.#hub.close();
    this.#client.close();
    this.#kubelet?.close();
  }

  #describe(): void {
    const metrics = this.#metrics;
    const list = (counts: object | undefined): [Labels, number][] =>
      Object.entries(counts ?? {}).map(([what, count]) => [{ what }, count as number]);
    const logs = () => {
      const { containers, openFiles, openGzipFiles, ...counters } = this.#agent.counts.logs;
      return { gauges: { containers, openFiles, openGzipFiles }, counters };
    };
    metrics.gauge("svc_exporter_logs", "Containers whose logs are tailed, and open files of them.", () =>
      list(logs().gauges),
    );
    metrics.read("counter", "svc_exporter_logs_total", "What the tail of log files did.", () =>
      list(logs().counters),
    );
    metrics.read(
      "counter",
      "svc_exporter_kubelet_total",
      "What the reader of the kubelet's metrics did.",
      () => list(this.#agent.counts.kubelet),
    );
    metrics.gauge(
      "svc_exporter_ingestion_rules",
      "Ingestion rules of the cluster, as the hub has them.",
      () => this.#rules.count,
    );
  }
}

function makeAgent(
  { node, podsDir, linkTargets, dir, scrapeMs, log }: NodeExporterOptions,
  gateway: Gateway,
  directory: PodDirectory,
  kubelet: ApiClient | undefined,
): NodeAgent {
  const pods = directory.find.bind(directory);
  return new NodeAgent({
    logs: {
      folder: podsDir,
      stateFolder: join(dir, "positions"),
      node,
      sink: ({ key, rows }) => gateway.acceptRows({ signal: "logs", key, rows }, true),
      pods,
      warn: log,
      linkTargets,
      elapsed: () => performance.now(),
    },
    kubelet: kubelet && {
      node,
      client: kubelet,
      sink: ({ key, rows }) => gateway.acceptRows({ signal: "metrics", key, rows }, false),
      pods,
      warn: log,
      now: Date.now,
      scrapeMs,
    },
  });
}
