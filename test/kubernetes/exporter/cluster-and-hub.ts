/** A cluster in this process, a hub, and an exporter between them. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import type { NodeExporterOptions } from "../../../server/kubernetes/exporter/node-exporter.ts";
import { Exporter, NodeExporter, readKubeconfig } from "../../../server/kubernetes/exporter-process.ts";
import { type Started, startSvc } from "../../server/command/program.ts";
import { alert } from "../../server/control/samples.ts";
import { call, type Found, type Running, startServer } from "../../server/running.ts";
import { type ApiServer, startApiServer } from "../api-server/api-server.ts";
import type { KubernetesObject } from "../api-server/objects.ts";

/** Receivers of notifications are on loopback in tests. */
const hubSettings = { notify: { allowedNetworks: ["127.0.0.0/8"] } };

export const observability = "observability.svc.example/v1alpha1";

interface Resource {
  timestamp: number;
  body: string;
  attributes: Record<string, string>;
}

export class ClusterAndHub {
  readonly api: ApiServer;
  hub: Running;
  readonly logged: string[] = [];
  exporter: Exporter | undefined;
  readonly #dir: string;
  readonly #token: string;
  /** Where searches end: after all rows of the test, and the same for all pages. */
  readonly #endMs = Date.now() + 86_400_000;
  /** Stands before the hub. Whoever calls a port that is closed may be given this very port for the call. */
  readonly #door: Server;

  private constructor(api: ApiServer, hub: Running, dir: string, token: string) {
    this.#door = createServer((caller) => {
      const inner = connect(this.hub.port, "127.0.0.1");
      caller.pipe(inner).pipe(caller);
      for (const socket of [caller, inner]) {
        socket.on("error", () => undefined);
        socket.on("close", () => (socket === caller ? inner : caller).destroy());
      }
    });
    this.api = api;
    this.hub = hub;
    this.#dir = dir;
    this.#token = token;
  }

  static async start(cluster = "prod"): Promise<ClusterAndHub> {
    const api = await startApiServer({ bookmarkMs: 50 });
    const crds = "server/kubernetes/charts/manifests/crds";
    for (const file of readdirSync(crds).filter((name) => name !== "kustomization.yaml"))
      api.create(parse(readFileSync(join(crds, file), "utf8")) as KubernetesObject);
    const dir = mkdtempSync(join(tmpdir(), "svc-exporter-"));
    const hub = await startServer({ ...hubSettings, dataDir: join(dir, "hub") });
    const made = await call<{ token: string }>(hub, "/api/v1/environments/create", {
      method: "POST",
      token: hub.adminToken,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ environment: { name: cluster } }),
    });
    writeFileSync(join(dir, "kubeconfig"), api.kubeconfig());
    const both = new ClusterAndHub(api, hub, dir, made.json.token);
    await new Promise<void>((resolve) => both.#door.listen(0, "127.0.0.1", resolve));
    return both;
  }

  /** Starts an exporter, or another one in place of the one before. */
  async startExporter(
    options: { relistMs?: number; stateMs?: number; readsSecrets?: boolean } = {},
  ): Promise<Exporter> {
    await this.stopExporter();
    const { relistMs, stateMs, readsSecrets = false } = options;
    this.exporter = new Exporter({
      connection: readKubeconfig(join(this.#dir, "kubeconfig")),
      hubUrl: this.#hubUrl,
      token: () => this.#token,
      configMaps: {
        alertSelector: "svc.example/alert=true",
        dashboardSelector: "svc.example/dashboard=true",
        namespaces: [],
      },
      gateway: { listen: { host: "127.0.0.1", port: 0 }, dir: join(this.#dir, "gateway") },
      operations: { host: "127.0.0.1", port: 0 },
      log: (message) => void this.logged.push(message),
      readsSecrets,
      ...(relistMs === undefined ? {} : { relistMs }),
      ...(stateMs === undefined ? {} : { stateMs }),
    });
    await this.exporter.start();
    return this.exporter;
  }

  /** Starts `svc exporter` as a process. What it keeps is in the same folder each time. */
  async startExporterProcess(
    ...flags: string[]
  ): Promise<Started & { otlpPort: number; operationsPort: number }> {
    const started = this.spawnExporter("--listen", "127.0.0.1:0", ...flags);
    const printed = await started.printed("svc exporter follows the cluster");
    const [, otlpPort, operationsPort] = /OTLP on port (\d+), health and metrics on (\d+)/.exec(printed)!;
    return { ...started, otlpPort: Number(otlpPort), operationsPort: Number(operationsPort) };
  }

  /** The same, where the start may fail. */
  spawnExporter(...flags: string[]): Started {
    const tokenFile = join(this.#dir, "token");
    writeFileSync(tokenFile, this.#token);
    return startSvc([
      ...["exporter", "--hub", this.#hubUrl, "--token-file", tokenFile],
      ...["--kubeconfig", join(this.#dir, "kubeconfig"), "--data", this.exporterFolder],
      ...["--operations", "127.0.0.1:0", ...flags],
    ]);
  }

  get exporterFolder(): string {
    return join(this.#dir, "exporter");
  }

  /** Starts the agent of a node. */
  async startNode(
    options: Pick<NodeExporterOptions, "node" | "podsDir" | "kubelet" | "dir">,
  ): Promise<NodeExporter> {
    return NodeExporter.start({
      ...options,
      connection: readKubeconfig(join(this.#dir, "kubeconfig")),
      hubUrl: this.#hubUrl,
      token: () => this.#token,
      linkTargets: [],
      operations: { host: "127.0.0.1", port: 0 },
      log: (message) => void this.logged.push(message),
      scrapeMs: 200,
    });
  }

  /** The logs that a query finds, of all times. */
  async logs(query: string): Promise<Found["logs"]> {
    const found: Found["logs"] = [];
    for (let cursor: string | undefined; ; ) {
      const page: Found = await this.#ask("logs", query, cursor === undefined ? {} : { cursor });
      found.push(...page.logs);
      if (page.cursor === undefined) return found;
      cursor = page.cursor;
    }
  }

  /** The states of Kubernetes resources that a query finds, of all times. */
  async resources(query: string): Promise<Resource[]> {
    return (await this.#ask<{ rows: Resource[] }>("kubernetes_resources", query)).rows;
  }

  async #ask<T>(signal: string, query: string, more: object = {}): Promise<T> {
    const got = await call<T>(this.hub, `/api/v1/query/${signal}`, {
      method: "POST",
      token: this.hub.adminToken,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query, startTime: 0, endTime: this.#endMs, limit: 1_000, ...more }),
    });
    if (got.status !== 200) throw new Error(got.text);
    return got.json;
  }

  /** Where exporters reach the hub. */
  get #hubUrl(): string {
    return `http://127.0.0.1:${(this.#door.address() as AddressInfo).port}`;
  }

  /** Starts the hub again, with what it had. It must be stopped. */
  async restartHub(): Promise<void> {
    this.hub = await startServer({ ...hubSettings, dataDir: this.hub.dir });
  }

  async stopExporter(): Promise<void> {
    await this.exporter?.close();
    this.exporter = undefined;
  }

  async stop(): Promise<void> {
    await this.stopExporter();
    this.#door.close();
    await this.hub.stop();
    await this.api.stop();
    rmSync(this.#dir, { recursive: true });
  }

  /** The resources of a kind that Kubernetes manages, by id. */
  async managed(plural: "alerts" | "dashboards" | "webhooks"): Promise<Map<string, unknown>> {
    interface Named {
      id?: string;
      metadata?: { id?: string };
    }
    type Page = Record<string, Named[]> & { cursor?: string };
    const list: Named[] = [];
    for (let cursor = ""; ; ) {
      const page = await call<Page>(this.hub, `/api/v1/${plural}?limit=1000${cursor}`, {
        token: this.hub.adminToken,
      });
      list.push(...page.json[plural]!);
      if (page.json.cursor === undefined) break;
      cursor = `&cursor=${page.json.cursor}`;
    }
    const named = list.map((value) => [value.metadata?.id ?? value.id ?? "", value] as const);
    return new Map(named.filter(([id]) => id.startsWith("kubernetes-managed.")));
  }

  /** Waits until a question has an answer that is not undefined or false. */
  async until<T>(ask: () => T | Promise<T>, what: string, seconds = 20): Promise<NonNullable<T>> {
    const endMs = performance.now() + seconds * 1_000;
    while (performance.now() < endMs) {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
      await sleep(25);
    }
    throw new Error(`${what}: not within ${seconds} s; ${this.logged.slice(-5).join(" | ")}`);
  }

  /** The condition Ready of an object. */
  ready(kind: string, name: string, namespace = "default") {
    const object = this.api.get({ apiVersion: observability, kind, metadata: { namespace, name } });
    const { conditions = [] } = (object?.status ?? {}) as { conditions?: Record<string, unknown>[] };
    return conditions.find(({ type }) => type === "Ready");
  }
}

export function makeAlert(
  name: string,
  { namespace = "default", threshold = 5, query = "count(logs)" } = {},
) {
  const { timeseries } = structuredClone(alert);
  timeseries.expression.svcQLTimeseries.query = query;
  timeseries.evaluationRules[0]!.static.operators[0]!.threshold = threshold;
  const object = {
    apiVersion: observability,
    kind: "SvcAlert",
    metadata: { name, namespace },
    spec: { timeseries },
  };
  return object as KubernetesObject;
}
