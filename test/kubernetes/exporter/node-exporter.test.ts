/** The agent of a node between log files, a kubelet, an API server and a hub. */

import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NodeExporter } from "../../../server/kubernetes/exporter/node-exporter.ts";
import { call } from "../../server/running.ts";
import type { KubernetesObject } from "../api-server/objects.ts";
import { ClusterAndHub, observability } from "./cluster-and-hub.ts";

let both: ClusterAndHub;
let agent: NodeExporter;
let log: string;
const dir = mkdtempSync(join(tmpdir(), "svc-node-"));
const podsDir = join(dir, "pods");
const kubelet = createServer((request, response) => {
  const isAllowed = request.headers.authorization === "Bearer kubelet";
  const isResource = request.url === "/metrics/resource";
  const [metric, labels] = isResource
    ? ["node_memory_working_set_bytes", ""]
    : ["container_threads", '{container="cart",namespace="default",pod="cart-5d4f-x2x"}'];
  response.writeHead(isAllowed ? 200 : 401).end(`# TYPE ${metric} gauge\n${metric}${labels} 7\n`);
});
const startAgent = () =>
  both.startNode({
    node: "node-1",
    podsDir,
    dir: join(dir, "state"),
    kubelet: {
      server: `http://127.0.0.1:${(kubelet.address() as AddressInfo).port}`,
      ca: () => undefined,
      token: () => "kubelet",
      isInsecure: false,
      namespace: "",
    },
  });
const write = (...messages: string[]) =>
  appendFileSync(
    log,
    messages
      .map((message) => `${new Date().toISOString().replace("Z", "000000Z")} stdout F ${message}\n`)
      .join(""),
  );

beforeAll(async () => {
  both = await ClusterAndHub.start();
  const pod = both.api.create({
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      name: "cart-5d4f-x2x",
      namespace: "default",
      labels: { "pod-template-hash": "5d4f", app: "cart" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "cart-5d4f", uid: "r", controller: true },
      ],
    },
    spec: { nodeName: "node-1", containers: [{ name: "cart", image: "cart" }] },
  } as unknown as KubernetesObject);
  const folder = join(podsDir, `default_cart-5d4f-x2x_${pod.metadata.uid}`, "cart");
  mkdirSync(folder, { recursive: true });
  log = join(folder, "0.log");
  const match = { matchExpressions: [{ key: "message", operator: "RegexIn", values: ["/healthz"] }] };
  both.api.create({
    ...{ apiVersion: observability, kind: "SvcClusterIngestionRule", metadata: { name: "health" } },
    spec: { rules: [{ signals: ["logs"], action: "Exclude", match }] },
  } as unknown as KubernetesObject);
  await both.startExporter();
  await both.until(() => both.ready("SvcClusterIngestionRule", "health"), "the rule");
  await new Promise<void>((resolve) => kubelet.listen(0, "127.0.0.1", resolve));
  agent = await startAgent();
}, 60_000);
afterAll(async () => {
  await agent.close();
  await both.stop();
  kubelet.closeAllConnections();
  kubelet.close();
  rmSync(dir, { recursive: true });
});

const untilLogs = (count: number) =>
  both.until(async () => {
    const rows = await both.logs('{k8s.container.name="cart"}');
    return rows.length >= count ? rows : undefined;
  }, `${count} logs`);

test("lines get their pod and service; what rules exclude stays on the node", async () => {
  write("GET /healthz 200", '{"level":"error","msg":"refused","order":7}', "GET /cart 200");
  const rows = await untilLogs(2);
  expect(rows.map(({ message }) => message).sort()).toEqual(["GET /cart 200", "refused"]);
  const refused = rows.find(({ message }) => message === "refused")!;
  expect(refused.log_level).toBe("error");
  expect(refused.attributes).toMatchObject({
    "service.name": "/k8s/default/cart",
    "k8s.cluster.name": "prod",
    "k8s.deployment.name": "cart",
    "k8s.node.name": "node-1",
    "k8s.pod.label.app": "cart",
    order: "7",
    stream: "stdout",
  });
});

test("the kubelet's metrics are samples of the pod's service", async () => {
  const series = await both.until(async () => {
    const got = await call<{ series: { labels: Record<string, string> }[] }>(
      both.hub,
      "/api/v1/query/timeseries",
      {
        method: "POST",
        token: both.hub.adminToken,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          query: "max(container_threads) by (service.name, k8s.node.name)",
          startTime: Date.now() - 600_000,
          endTime: Date.now() + 1_000,
          bucketSize: 60,
        }),
      },
    );
    return got.json.series.length > 0 ? got.json.series : undefined;
  }, "a series");
  expect(series).toMatchObject([
    { labels: { "service.name": "/k8s/default/cart", "k8s.node.name": "node-1" } },
  ]);
});

test("while the hub is away lines wait on the disk, and arrive once, over a restart too", async () => {
  const before = (await untilLogs(2)).length;
  await both.hub.stop();
  write("one", "two");
  const buffered = () => readdirSync(join(dir, "state", "gateway")).length > 0;
  await both.until(buffered, "the buffer");
  await agent.close();
  agent = await startAgent();
  write("three");
  await both.restartHub();
  const rows = await untilLogs(before + 3);
  const texts = rows.map(({ message }) => message);
  for (const text of ["one", "two", "three"])
    expect([text, texts.filter((each) => each === text)]).toEqual([text, [text]]);
});
