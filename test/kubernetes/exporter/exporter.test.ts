/** The exporter between an API server and a hub, as a whole: whatever happens, the hub ends where the objects are. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { call } from "../../server/running.ts";
import type { KubernetesObject } from "../api-server/objects.ts";
import { ClusterAndHub, makeAlert, observability } from "./cluster-and-hub.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
let both: ClusterAndHub;

beforeAll(async () => {
  both = await ClusterAndHub.start();
  await both.startExporter();
}, 60_000);
afterAll(() => both.stop());
afterEach(() => both.api.faults.clear());

const idOf = (name: string, namespace = "default") => `kubernetes-managed.prod.${namespace}.${name}`;
const reference = (kind: string, name: string) => ({
  ...{ apiVersion: observability, kind },
  metadata: { name, namespace: "default" },
});
const thresholdOf = (alert: unknown) =>
  (alert as { timeseries: { evaluationRules: { static: { operators: { threshold: number }[] } }[] } })
    .timeseries.evaluationRules[0]!.static.operators[0]!.threshold;
const eventsOn = (name: string) =>
  both.api
    .list("v1", "Event")
    .map((event) => event as unknown as { involvedObject: { name: string }; type: string; message: string })
    .filter(({ involvedObject }) => involvedObject.name === name);

describe("custom resources", () => {
  test("become resources of the hub, and their status says so; they change and vanish with their objects", async () => {
    both.api.create(makeAlert("errors"));
    const ready = await both.until(() => both.ready("SvcAlert", "errors"), "a status");
    expect(ready).toMatchObject({ status: "True", reason: "Synced", observedGeneration: 1 });
    const { status } = both.api.get(reference("SvcAlert", "errors"))!;
    expect(status).toMatchObject({ id: idOf("errors"), observedGeneration: 1 });
    expect((await both.managed("alerts")).has(idOf("errors"))).toBe(true);

    both.api.apply(makeAlert("errors", { threshold: 77 }), "somebody");
    await both.until(
      async () => thresholdOf((await both.managed("alerts")).get(idOf("errors"))) === 77,
      "a change",
    );
    both.api.delete(reference("SvcAlert", "errors"));
    await both.until(async () => !(await both.managed("alerts")).has(idOf("errors")), "a deletion");
  });

  test("that the hub refuses keep their last good version, and say what is wrong", async () => {
    both.api.create(makeAlert("broken"));
    await both.until(() => both.ready("SvcAlert", "broken"), "a status");
    both.api.apply(makeAlert("broken", { query: "conut(logs" }), "somebody");
    const ready = await both.until(() => {
      const condition = both.ready("SvcAlert", "broken");
      return condition?.status === "False" ? condition : undefined;
    }, "a refusal");
    expect(ready).toMatchObject({ reason: "InvalidQuery", observedGeneration: 2 });
    expect(ready.message).toContain("spec.timeseries.expression.svcQLTimeseries.query");
    await both.until(() => eventsOn("broken").length === 1, "an Event");
    expect(eventsOn("broken")[0]).toMatchObject({ type: "Warning", message: ready.message });
    expect((await both.managed("alerts")).has(idOf("broken"))).toBe(true);
  });

  test("no status is written again that did not change", async () => {
    both.api.create(makeAlert("quiet"));
    await both.until(() => both.ready("SvcAlert", "quiet"), "a status");
    const { resourceVersion } = both.api.get(reference("SvcAlert", "quiet"))!.metadata;
    both.exporter!.synchronise();
    await sleep(500);
    await both.until(() => both.exporter!.isSettled, "a settled exporter");
    expect(both.api.get(reference("SvcAlert", "quiet"))!.metadata.resourceVersion).toBe(resourceVersion);
  });

  test("a kind that may not be read does not stop the others", async () => {
    const other = await ClusterAndHub.start("second");
    other.api.faults.answer(403, { match: ({ resource }) => resource === "svcwebhooks" });
    other.api.faults.answer(404, { match: ({ resource }) => resource === "svcdashboards" });
    try {
      await other.startExporter();
      other.api.create(makeAlert("alone"));
      await other.until(() => other.ready("SvcAlert", "alone"), "a status");
      const port = other.exporter!.operationsPort;
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text).toContain('svc_exporter_watch_up{resource="svcwebhooks",selector=""} 0');
      expect(text).toContain('svc_exporter_watch_up{resource="svcalerts",selector=""} 1');
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    } finally {
      await other.stop();
    }
  });
});

describe("ConfigMaps", () => {
  const configMap = (name: string, data: Record<string, string>) =>
    ({
      ...{ apiVersion: "v1", kind: "ConfigMap", data },
      metadata: { name, namespace: "default", labels: { "svc.example/dashboard": "true" } },
    }) as unknown as KubernetesObject;

  test("each document of each key is a dashboard; a bad key keeps its last good version", async () => {
    const two = "metadata: {title: A}\n---\nmetadata: {title: B}\n";
    both.api.create(
      configMap("boards", { "Shop_1.yaml": two, "c.json": '{"metadata":{"title":"C"}}', notes: "x" }),
    );
    both.api.create({
      ...configMap("other", { "d.yaml": "metadata: {title: D}" }),
      metadata: { name: "other", namespace: "default" },
    });
    const ids = [idOf("boards.c"), idOf("boards.shop-1"), idOf("boards.shop-1.2")];
    const list = async () => [...(await both.managed("dashboards")).keys()].sort();
    await both.until(async () => (await list()).length === 3, "three dashboards");
    expect(await list()).toEqual(ids);

    both.api.apply(
      configMap("boards", { "Shop_1.yaml": "metadata: [", "c.json": '{"metadata":{"title":"C2"}}' }),
      "x",
    );
    await both.until(() => eventsOn("boards").length > 0, "an Event");
    expect(eventsOn("boards")[0]!.message).toMatch(/^Shop_1\.yaml: /);
    await both.until(
      async () => JSON.stringify((await both.managed("dashboards")).get(ids[0]!)).includes("C2"),
      "the good key's change",
    );
    both.exporter!.synchronise();
    await sleep(500);
    expect(await list()).toEqual(ids);

    both.api.delete({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "boards", namespace: "default" },
    });
    await both.until(async () => (await list()).length === 0, "their deletion");
  });
});

test("secrets are read for a delivery, and only those that a webhook of the namespace names", async () => {
  const received: (string | undefined)[] = [];
  const receiver = createServer((request, response) => {
    received.push(request.headers.authorization);
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const exporter = await both.startExporter({ readsSecrets: true });
  const make = (kind: string, fields: object) => ({ apiVersion: "v1", kind, ...fields }) as KubernetesObject;
  const secret = {
    metadata: { name: "pager", namespace: "default" },
    data: { token: btoa("Bearer hunter2") },
  };
  both.api.create(make("Secret", secret));
  both.api.create({
    ...makeAlert("pager"),
    kind: "SvcWebhook",
    spec: {
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      headersFrom: { Authorization: { secretKeyRef: { name: "pager", key: "token" } } },
    },
  });
  await both.until(() => both.ready("SvcWebhook", "pager"), "a status");
  const reader = exporter.secrets;
  expect(await reader.read({ id: "", namespace: "default", name: "pager", key: "token" })).toBe(
    "Bearer hunter2",
  );
  const refused = { id: "", namespace: "default", name: "pager", key: "other" };
  await expect(reader.read(refused)).rejects.toThrow("no SvcWebhook of default names the key other");
  await expect(reader.read({ ...refused, namespace: "kube-system" })).rejects.toThrow("no SvcWebhook");
  receiver.close();
});

test("telemetry gets its pod's attributes, and what rules exclude stays in the cluster", async () => {
  const { api, exporter } = both;
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      name: "cart-5d4f-x2x",
      namespace: "default",
      labels: { "pod-template-hash": "5d4f" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "cart-5d4f", uid: "r", controller: true },
      ],
    },
    spec: { nodeName: "node-1", containers: [{ name: "cart", image: "cart" }] },
  };
  const { uid } = api.create(pod as unknown as KubernetesObject).metadata;
  const match = { matchExpressions: [{ key: "path", operator: "RegexIn", values: ["^/health"] }] };
  api.create({
    ...{ apiVersion: observability, kind: "SvcClusterIngestionRule", metadata: { name: "health" } },
    spec: { rules: [{ signals: ["logs"], action: "Exclude", match }] },
  } as unknown as KubernetesObject);
  const port = exporter!.operationsPort;
  await both.until(
    async () =>
      /^svc_exporter_ingestion_rules 1$/m.test(
        await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
      ),
    "the rule",
  );
  const record = (path: string) => ({
    timeUnixNano: String(BigInt(Date.now()) * 1_000_000n),
    body: { stringValue: `GET ${path}` },
    attributes: [{ key: "path", value: { stringValue: path } }],
  });
  const resource = { attributes: [{ key: "k8s.pod.uid", value: { stringValue: uid } }] };
  const logRecords = ["/health", "/cart", "/healthz", "/pay"].map(record);
  const sent = await fetch(`http://127.0.0.1:${exporter!.otlpPort}/v1/logs`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }),
  });
  expect([sent.status, await sent.text()]).toEqual([200, expect.anything()]);
  const entries = await both.until(async () => {
    const found = await both.logs('k8s.pod.name:"cart-5d4f-x2x"');
    return found.length > 0 ? found : undefined;
  }, "rows");
  expect(entries.map(({ attributes }) => attributes.path).sort()).toEqual(["/cart", "/pay"]);
  expect(entries[0]!.attributes).toMatchObject({
    "service.name": "/k8s/default/cart",
    "k8s.deployment.name": "cart",
    "k8s.node.name": "node-1",
  });
});

test("random histories of objects and faults end with the hub and the statuses as the objects say", async () => {
  const random = new Random(seed);
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)]!;
  const names = Array.from({ length: 12 }, (_, i) => `random-${i}`);
  const thresholds = new Map<string, number>();
  const byHand = await call(both.hub, "/api/v1/alerts/update", {
    method: "POST",
    token: both.hub.adminToken,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ alert: { metadata: { name: "by hand" }, ...makeAlert("x").spec } }),
  });
  expect([byHand.status, byHand.text]).toEqual([200, byHand.text]);
  await both.startExporter({ relistMs: 2_000 });
  const { faults } = both.api;
  const disturb = [
    () => faults.dropConnections(),
    () => faults.expireWatches(),
    () => faults.compact(),
    () => faults.stallWatches(),
    () => faults.answer(pick([429, 500, 503]), { times: 1 + random.below(4) }),
    () => faults.drop({ times: 1 + random.below(4) }),
    () => both.startExporter({ relistMs: 2_000 }),
    () => faults.restart(),
  ];
  for (let round = 0; round < 60; round++) {
    for (let i = random.below(4); i >= 0; i--) {
      const name = pick(names);
      if (thresholds.has(name) && random.oneIn(3)) {
        both.api.delete(reference("SvcAlert", name));
        thresholds.delete(name);
      } else {
        const threshold = random.below(1_000);
        both.api.apply(makeAlert(name, { threshold }), "somebody");
        thresholds.set(name, threshold);
      }
    }
    if (random.oneIn(3)) await pick(disturb)();
    await sleep(random.below(60));
  }
  faults.clear();
  await both.startExporter({ relistMs: 2_000 });
  const managed = async () =>
    Object.fromEntries(
      [...(await both.managed("alerts"))]
        .filter(([id]) => id.includes(".random-"))
        .map(([id, alert]) => [id, thresholdOf(alert)]),
    );
  const expected = Object.fromEntries([...thresholds].map(([name, threshold]) => [idOf(name), threshold]));
  await both.until(async () => {
    const found = await managed();
    const isSame = Object.keys(expected).every((id) => found[id] === expected[id]);
    return isSame && Object.keys(found).length === Object.keys(expected).length;
  }, `seed ${seed}: the same alerts`);
  await both.until(
    () => names.every((name) => !thresholds.has(name) || both.ready("SvcAlert", name)?.status === "True"),
    `seed ${seed}: statuses`,
  );
  const all = await call(both.hub, "/api/v1/alerts", { token: both.hub.adminToken });
  expect(all.text).toContain("by hand");
}, 120_000);
