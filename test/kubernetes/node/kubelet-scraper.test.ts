/** The kubelet's metrics become samples that the server takes; what it answers is bounded and never trusted. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ApiClient } from "../../../server/kubernetes/cluster/api-client.ts";
import type { SampleRow } from "../../../server/kubernetes/node/kubelet-sample.ts";
import { KubeletScraper } from "../../../server/kubernetes/node/kubelet-scraper.ts";
import { PrometheusText } from "../../../server/kubernetes/node/prometheus-text.ts";
import { call, startServer } from "../../server/running.ts";

const uid = "0f5f63cd-5a4b-4c5d-9d5e-000000000001";
const cgroup = `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid.replaceAll("-", "_")}.slice`;
const ofPod = `name="x",namespace="shop",pod="cart-1"`;
const cadvisor = `# HELP container_cpu_usage_seconds_total Cumulative
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="",cpu="total",id="/",image="",name="",namespace="",pod=""} 9 1769676120000
container_cpu_usage_seconds_total{container="",cpu="total",id="${cgroup}",image="",${ofPod}} 5 1769676120000
container_cpu_usage_seconds_total{container="app",cpu="total",id="${cgroup}/c",image="shop/cart:1",${ofPod}} 4.5 1769676120000
# TYPE container_network_receive_bytes_total counter
container_network_receive_bytes_total{container="",id="${cgroup}",image="",interface="eth0",${ofPod}} 1e+03 1769676120000
# TYPE container_spec_memory_limit_bytes gauge
container_spec_memory_limit_bytes{container="app",id="${cgroup}/c",image="",${ofPod}} +Inf
# TYPE container_secret gauge
container_secret{container="app",id="",image="",${ofPod}} 1
container_threads{container="app"
# TYPE machine_cpu_cores gauge
machine_cpu_cores{boot_id="b",machine_id="m"} 8
`;
const resource = `# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 5.5e+09 1769676120001
`;

interface Answer {
  status?: number;
  text: string;
}

async function scrape(
  answer: (path: string) => Answer,
): Promise<{ rows: SampleRow[]; warnings: string[]; scraper: KubeletScraper }> {
  const rows: SampleRow[] = [];
  const warnings: string[] = [];
  let reads = 0;
  const kubelet = createServer(({ url, headers }, response) => {
    reads++;
    const { status = 200, text } = answer(url!);
    response.writeHead(headers.authorization === "Bearer t0k3n" ? status : 401).end(text);
  });
  await new Promise<void>((resolve) => kubelet.listen(0, "127.0.0.1", resolve));
  const client = new ApiClient({
    server: `http://127.0.0.1:${(kubelet.address() as AddressInfo).port}`,
    ca: () => undefined,
    token: () => "t0k3n",
    isInsecure: false,
    namespace: "",
  });
  const known = { service: "cart", labels: {}, workload: {} };
  const scraper = new KubeletScraper({
    node: "node-1",
    client,
    sink: async (batch) => void rows.push(...batch.rows),
    pods: (pod) => (pod.uid === undefined || pod.uid === uid ? known : undefined),
    warn: (message) => warnings.push(message),
    now: () => 1_769_676_121_000,
    scrapeMs: 40,
  });
  const running = scraper.run();
  await expect.poll(() => reads, { timeout: 10_000 }).toBeGreaterThanOrEqual(2);
  await sleep(30);
  scraper.close();
  await running;
  client.close();
  kubelet.closeAllConnections();
  kubelet.close();
  return { rows, warnings, scraper };
}

test("samples have the pod's attributes, and nothing is counted twice", async () => {
  let reads = 0;
  const { rows, scraper } = await scrape((path) => {
    if (++reads > 2) return { text: "" };
    return { text: path === "/metrics/cadvisor" ? cadvisor : resource };
  });
  const where = {
    "service.name": "/k8s/shop/cart",
    "k8s.namespace.name": "shop",
    "k8s.pod.name": "cart-1",
    "k8s.pod.uid": uid,
    "k8s.node.name": "node-1",
  };
  const timestamp = 1_769_676_120_000;
  expect(rows).toEqual([
    {
      timestamp,
      name: "container_cpu_usage_seconds_total",
      type: "counter",
      value: 4.5,
      labels: { ...where, cpu: "total", "k8s.container.name": "app", "container.image.name": "shop/cart:1" },
    },
    {
      timestamp,
      name: "container_network_receive_bytes_total",
      type: "counter",
      value: 1_000,
      labels: { ...where, interface: "eth0" },
    },
    {
      timestamp: timestamp + 1_000,
      name: "container_spec_memory_limit_bytes",
      type: "gauge",
      value: "+Inf",
      labels: { ...where, "k8s.container.name": "app" },
    },
    {
      timestamp: timestamp + 1_000,
      name: "machine_cpu_cores",
      type: "gauge",
      value: 8,
      labels: { "k8s.node.name": "node-1", boot_id: "b", machine_id: "m" },
    },
    {
      timestamp: timestamp + 1,
      name: "node_memory_working_set_bytes",
      type: "gauge",
      value: 5.5e9,
      labels: { "k8s.node.name": "node-1" },
    },
  ]);
  expect(scraper.counts.badLines).toBe(1);
  const server = await startServer();
  try {
    const body = rows.map((row) => JSON.stringify({ ...row, timestamp: Date.now() })).join("\n");
    const headers = { "Content-Type": "application/x-ndjson" };
    const answer = await call(server, "/api/v1/ingest/metrics", { token: server.adminToken, headers, body });
    expect(answer.json).toMatchObject({ accepted: rows.length, refused: 0 });
  } finally {
    await server.stop();
  }
});

test("a refusal names the right that is missing, and lines without an end cost no memory", async () => {
  const refused = await scrape(() => ({ status: 403, text: "" }));
  expect(refused.warnings[0]).toContain("nodes/metrics");
  const endless = await scrape(() => ({
    text: `machine_cpu_cores{a="${"x".repeat(200_000)}"} 1\nmachine_cpu_cores 2\n`,
  }));
  expect(endless.rows[0]).toMatchObject({ value: 2 });
  expect(endless.scraper.counts.badLines).toBeGreaterThan(0);
});

test("escapes of labels are read", () => {
  const text = new PrometheusText(() => true);
  expect(text.readLine('a{b="x\\"y\\\\n\\n,}",c=""} NaN')).toEqual({
    name: "a",
    type: "untyped",
    labels: { b: 'x"y\\n\n,}', c: "" },
    value: Number.NaN,
    timestampMs: undefined,
  });
  for (const bad of ["{}", 'a{b="x} 1', "a 1 2 3", "a{b=1} 1", "a 0x10", "a"])
    expect(text.readLine(bad)).toBe("bad");
});
