/** The objects of a cluster are rows at the hub: each change, a full state, and each Event once. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call } from "../../server/running.ts";
import type { KubernetesObject } from "../api-server/objects.ts";
import { ClusterAndHub } from "../exporter/cluster-and-hub.ts";

let both: ClusterAndHub;
const stateMs = 3_000;
const secret = "hunter2";

const make = (apiVersion: string, kind: string, name: string, fields: object = {}) => {
  const { metadata = {}, ...rest } = fields as { metadata?: object };
  const namespace = kind === "Node" ? {} : { namespace: "default" };
  return { apiVersion, kind, metadata: { name, ...namespace, ...metadata }, ...rest } as KubernetesObject;
};
const deployment = (image: string, env = "a") =>
  make("apps/v1", "Deployment", "cart", {
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "cart" } },
      template: {
        metadata: { labels: { app: "cart" } },
        spec: { containers: [{ name: "cart", image, env: [{ name: "PASSWORD", value: secret + env }] }] },
      },
    },
  });
const event = (name: string, reason: string, uid: string, timeMs = Date.now()) =>
  make("v1", "Event", name, {
    involvedObject: { kind: "Pod", namespace: "default", name: "cart-5d4f-x2x", uid },
    ...{ reason, type: "Warning", message: "Back-off", count: 1 },
    lastTimestamp: new Date(Math.floor(timeMs / 1_000) * 1_000).toISOString(),
  });
const ofKind = (kind: string) => both.resources(`kubernetes_resources{k8s.resource.kind="${kind}"}`);
const hasReason = (reason: string) => (row: Awaited<ReturnType<typeof ofKind>>[number]) =>
  row.attributes["k8s.event.reason"] === reason;
const untilRows = async (kind: string, count: number) =>
  both.until(async () => {
    const rows = await ofKind(kind);
    return rows.length >= count ? rows : undefined;
  }, `${count} rows of ${kind}`);

beforeAll(async () => {
  both = await ClusterAndHub.start();
  both.api.create(deployment("cart:1"));
  both.api.create(make("v1", "Node", "node-1", { status: { images: [{ names: ["x"] }] } }));
  await both.startExporter();
}, 60_000);
afterAll(() => both.stop());

describe("objects", () => {
  test("that were there are a state; a change says what changed; secrets stay in the cluster", async () => {
    const [state] = await untilRows("Deployment", 1);
    expect(state!.attributes).toMatchObject({
      "k8s.cluster.name": "prod",
      "k8s.namespace.name": "default",
      "k8s.resource.name": "cart",
      "k8s.deployment.name": "cart",
      "k8s.resource.change": "present",
      "service.name": "/k8s/default/cart",
    });
    expect(JSON.parse(state!.body)).toMatchObject({
      spec: {
        replicas: 3,
        template: { spec: { containers: [{ image: "cart:1", env: [{ name: "PASSWORD" }] }] } },
      },
    });
    both.api.apply(deployment("cart:2"), "somebody");
    const changed = await untilRows("Deployment", 2);
    const newest = changed.find(({ attributes }) => attributes["k8s.resource.change"] === "changed")!;
    expect(newest.attributes["k8s.resource.changed"]).toBe("spec");
    expect(newest.body).toContain("cart:2");
    // A value that is not sent changes, too.
    both.api.apply(deployment("cart:2", "b"), "somebody");
    await untilRows("Deployment", 3);
    both.api.delete({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "cart", namespace: "default" },
    });
    const all = await untilRows("Deployment", 4);
    expect(all.map(({ attributes }) => attributes["k8s.resource.change"])).toContain("deleted");
    for (const { body } of await both.resources("kubernetes_resources")) {
      expect(body).not.toContain(secret);
      expect(body).not.toContain("managedFields");
    }
    expect((await ofKind("Node"))[0]!.body).not.toContain("images");
  });

  test("a node that is only alive is no change", async () => {
    const before = (await ofKind("Node")).length;
    const alive = (lastHeartbeatTime: string, status = "True") =>
      both.api.apply(
        make("v1", "Node", "node-1", {
          status: { conditions: [{ type: "Ready", status, lastHeartbeatTime }] },
        }),
        "kubelet",
      );
    alive("2026-11-23T00:00:00Z");
    await untilRows("Node", before + 1);
    alive("2026-11-23T00:00:10Z");
    alive("2026-11-23T00:00:20Z", "False");
    const rows = await untilRows("Node", before + 2);
    expect(rows.length).toBe(before + 2);
    expect(rows.some(({ body }) => body.includes("00:00:10Z"))).toBe(false);
  });

  test("everything is sent again after a while, Events are not", async () => {
    both.api.create(make("v1", "Service", "cart", { spec: { clusterIP: "10.0.0.1" } }));
    await untilRows("Service", 1);
    await both.startExporter({ stateMs });
    await both.until(async () => (await ofKind("Service")).length >= 3, "two states", 30);
    const rows = await ofKind("Service");
    const changes = rows.map(({ attributes }) => attributes["k8s.resource.change"]);
    expect(changes).toContain("added");
    expect(changes.filter((change) => change === "present").length).toBeGreaterThanOrEqual(2);
    await both.startExporter();
  });
});

test("an Event is sent once, over restarts too, with what it is about", async () => {
  const { uid } = both.api.create(
    make("v1", "Pod", "cart-5d4f-x2x", {
      metadata: {
        labels: { "pod-template-hash": "5d4f" },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: "cart-5d4f", uid: "r", controller: true },
        ],
      },
      spec: { nodeName: "node-1", containers: [{ name: "cart", image: "cart" }] },
    }),
  ).metadata;
  await untilRows("Pod", 1);
  both.api.create(event("cart.1", "BackOff", uid!));
  const [row] = await untilRows("Event", 1);
  expect(row!.attributes).toMatchObject({
    "k8s.event.reason": "BackOff",
    "k8s.event.type": "Warning",
    "k8s.object.kind": "Pod",
    "k8s.pod.name": "cart-5d4f-x2x",
    "service.name": "/k8s/default/cart",
  });
  await both.startExporter();
  both.api.create(event("cart.2", "Killing", uid!));
  both.api.faults.expireWatches();
  both.api.create(event("cart.3", "OOMKilling", uid!));
  const rows = await untilRows("Event", 3);
  expect(rows.map(({ attributes }) => attributes["k8s.event.reason"]).sort()).toEqual([
    "BackOff",
    "Killing",
    "OOMKilling",
  ]);
});

test("an Event dated ahead of the clock is sent once, and keeps back none that happens after it", async () => {
  const before = (await ofKind("Event")).length;
  both.api.create(event("fast.1", "Ahead", "x", Date.now() + 3_600_000));
  await untilRows("Event", before + 1);
  for (const reason of ["Missed", "MissedToo"]) {
    await both.stopExporter();
    both.api.create(event(`slow.${reason.toLowerCase()}`, reason, "x"));
    await both.startExporter();
    await both.until(async () => (await ofKind("Event")).some(hasReason(reason)), `the Event ${reason}`);
  }
  const rows = await untilRows("Event", before + 3);
  expect(rows.filter(hasReason("Ahead")).length).toBe(1);
  expect(rows.length).toBe(before + 3);
});

test("an object that vanished while nobody watched is noticed", async () => {
  both.api.create(make("v1", "Service", "lost", {}));
  await both.until(
    async () => (await both.resources('kubernetes_resources{k8s.resource.name="lost"}')).length === 1,
    "a row",
  );
  both.api.faults.stallWatches();
  both.api.delete({ apiVersion: "v1", kind: "Service", metadata: { name: "lost", namespace: "default" } });
  both.api.faults.clear();
  both.api.faults.expireWatches();
  both.api.faults.dropConnections();
  const rows = await both.until(async () => {
    const found = await both.resources('kubernetes_resources{k8s.resource.name="lost"}');
    return found.length === 2 ? found : undefined;
  }, "a deletion");
  expect(rows.map(({ attributes }) => attributes["k8s.resource.change"]).sort()).toEqual([
    "added",
    "deleted",
  ]);
});

test("an ingestion rule keeps objects in the cluster", async () => {
  const match = { matchExpressions: [{ key: "k8s.resource.name", operator: "RegexIn", values: ["^quiet"] }] };
  const rule = { id: "quiet", rules: [{ signals: ["kubernetesResources"], action: "Exclude", match }] };
  const made = await call(both.hub, "/api/v1/ingestion-rules", {
    method: "POST",
    token: both.hub.adminToken,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ingestionRule: rule }),
  });
  expect([made.status, made.text]).toEqual([200, made.text]);
  const metrics = async () =>
    (await fetch(`http://127.0.0.1:${both.exporter!.operationsPort}/metrics`)).text();
  await both.until(async () => /^svc_exporter_ingestion_rules 1$/m.test(await metrics()), "the rule");
  for (const name of ["quiet-1", "loud"]) both.api.create(make("v1", "Service", name, {}));
  await both.until(
    async () => (await both.resources('kubernetes_resources{k8s.resource.name="loud"}')).length === 1,
    "a row",
  );
  expect(await both.resources('kubernetes_resources{k8s.resource.name=~"quiet.*"}')).toEqual([]);
  expect(await metrics()).toMatch(/^svc_gateway_excluded_total\{rule=".*quiet"\} 1$/m);
});
