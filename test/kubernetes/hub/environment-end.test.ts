/** The end of an environment: what its cluster managed ends with it. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { alert, dashboard } from "../../server/control/samples.ts";
import { call, ingest, lines, type Running, startServer } from "../../server/running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ alertTiming: { delayMs: 500 } });
});
afterAll(() => server.stop());

function ask<T = Record<string, unknown>>(method: string, path: string, body?: object, token?: string) {
  return call<T>(server, `/api/v1${path}`, {
    method,
    token: token ?? server.adminToken,
    headers: { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function make<T = Record<string, unknown>>(method: string, path: string, body: object): Promise<T> {
  const got = await ask<T>(method, path, body);
  expect(got.status, got.text).toBe(200);
  return got.json;
}

const createEnvironment = async (name: string) =>
  (await make<{ token: string }>("POST", "/environments/create", { environment: { name } })).token;

interface Result {
  id: string;
  reason: string;
  message: string;
}

async function apply(token: string, ...objects: object[]): Promise<Result[]> {
  const got = await ask<{ results: Result[] }>("POST", "/kubernetes/objects", { objects }, token);
  expect(got.status, got.text).toBe(200);
  return got.json.results;
}

function object(kind: string, namespace: string | undefined, name: string, spec: unknown) {
  const metadata = { name, uid: `${kind} ${name}`, ...(namespace === undefined ? {} : { namespace }) };
  return { kind, metadata, spec };
}

/** Fires as soon as there is a row, goes on, and tells a webhook of people. */
const { timeseries } = structuredClone(alert);
const [rule] = timeseries.evaluationRules as [(typeof timeseries.evaluationRules)[0]];
const firing = {
  expression: { svcQLTimeseries: { query: "count(logs)", bucketSize: 60 } },
  evaluationRules: [
    {
      name: rule.name,
      actions: [{ type: "webhook", webhookDestination: { uuid: "hook", notifyOnResolve: true } }],
      static: {
        operators: [{ operator: "greaterThan", threshold: 0 }],
        persistenceSettings: {
          ...{ datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 },
          missingDatapointBehavior: "ignore",
        },
      },
    },
  ],
};
const reading = { groups: ["devs"], rules: [{ signals: ["logs"] }] };
const managing = { groups: ["devs"], rules: [{ resources: ["alerts"], verbs: ["read"] }] };
const objects = [
  object("SvcAlert", "shop", "errors", { timeseries: firing }),
  object("ConfigMapAlert", "shop", "mapped", alert),
  object("SvcDashboard", "shop", "board", { content: dashboard.content }),
  object("ConfigMapDashboard", "shop", "mapped", dashboard),
  object("SvcWebhook", "shop", "ops", { url: "https://hooks.example.com/" }),
  object("SvcClusterIngestionRule", undefined, "no-probes", {
    rules: [{ signals: ["traces"], action: "Exclude" }],
  }),
  object("SvcNamespaceTelemetryRule", "shop", "devs", reading),
  object("SvcClusterTelemetryRule", undefined, "devs", reading),
  object("SvcNamespaceResourceRule", "shop", "devs", managing),
  object("SvcClusterResourceRule", undefined, "devs", managing),
];
const plurals = ["alerts", "dashboards", "webhooks", "ingestion-rules", "telemetry-rules", "resource-rules"];

/** What a cluster manages. */
async function managedIds(cluster: string): Promise<string[]> {
  const lists = await Promise.all(
    plurals.map(async (plural) => {
      const { json } = await ask<{ managed?: object }>("GET", `/${plural}`);
      const ids = Object.keys(json.managed ?? {});
      return ids.filter((id) => id.startsWith(`kubernetes-managed.${cluster}.`));
    }),
  );
  return lists.flat();
}

test("removes what its cluster manages, and nothing else; an alert that fired ends, and all of it is in the audit log", async () => {
  const prod = await createEnvironment("prod");
  const staging = await createEnvironment("staging");
  const row = { timestamp: Date.now() - 60_000, message: "x" };
  await ingest(server, lines([row]), { Authorization: `Bearer ${prod}` });
  await make("PUT", "/webhooks/hook", { webhook: { url: "https://hooks.example.com/" } });
  const synced = await apply(prod, ...objects);
  expect(synced.map(({ reason }) => reason)).toEqual(objects.map(() => "Synced"));
  await apply(staging, ...objects);
  await make("POST", "/alerts/update", { alert: { ...alert, metadata: { id: "own", name: "own" } } });
  const id = "kubernetes-managed.prod.shop.errors";
  const notified = async () => {
    type Listed = { notifications: { type: string; alertId: string }[] };
    const { notifications } = (await ask<Listed>("GET", "/notifications")).json;
    return notifications.filter(({ alertId }) => alertId === id).map(({ type }) => type);
  };
  await expect.poll(notified, { timeout: 20_000 }).toEqual(["alertFired"]);

  expect((await ask("DELETE", "/environments/prod")).json).toEqual({ id: "prod" });
  expect(await managedIds("prod")).toEqual([]);
  expect(await managedIds("staging")).toHaveLength(objects.length);
  expect((await ask("GET", "/alerts/own")).status).toBe(200);
  await expect.poll(notified, { timeout: 20_000 }).toContain("alertResolved");
  const changes = async () => {
    const query = 'logs{audit="change", action="deleted"}';
    const range = { startTime: Date.now() - 600_000, endTime: Date.now() + 600_000 };
    type Logs = { logs: { attributes: Record<string, string> }[] };
    const { logs } = (await ask<Logs>("POST", "/query/logs", { query, ...range })).json;
    return logs.map(({ attributes }) => attributes["resource.id"]).sort();
  };
  const removed = [...synced.map((each) => each.id), "prod"].sort();
  await expect.poll(changes, { timeout: 5_000 }).toEqual(removed);
  expect((await ask("POST", "/kubernetes/objects", { objects: [] }, prod)).status).toBe(401);

  const again = await createEnvironment("prod");
  expect((await apply(again, ...objects)).map(({ reason }) => reason)).toEqual(objects.map(() => "Synced"));
  expect(await managedIds("prod")).toHaveLength(objects.length);
}, 60_000);

test("is refused while alerts or routes of others notify webhooks of its cluster, and then nothing is changed", async () => {
  const token = await createEnvironment("used");
  await apply(token, ...objects);
  const uuid = "kubernetes-managed.used.shop.ops";
  const actions = [{ type: "webhook", webhookDestination: { uuid } }];
  const notifying = { ...timeseries, evaluationRules: [{ ...rule, actions }] };
  // An alert of the cluster itself goes with the webhook.
  await apply(token, object("SvcAlert", "shop", "tells", { timeseries: notifying }));
  await make("POST", "/alerts/update", {
    alert: { metadata: { id: "mine", name: "mine" }, timeseries: notifying },
  });
  await make("PUT", "/routes/all", { route: { actions } });
  const deleting = async () => {
    const { status, json } = await ask("DELETE", "/environments/used");
    return [status, json.error];
  };
  const use = (what: string) => `${what} (webhook "${uuid}")`;
  expect(await deleting()).toEqual([
    409,
    `the environment is used by ${use('the alert "mine"')}, ${use('the route "all"')}: change that first`,
  ]);
  expect(await managedIds("used")).toHaveLength(objects.length + 1);
  expect((await ask("POST", "/kubernetes/objects", { objects: [] }, token)).status).toBe(200);
  await ask("DELETE", "/alerts/mine");
  expect(await deleting()).toEqual([
    409,
    `the environment is used by ${use('the route "all"')}: change that first`,
  ]);
  await ask("DELETE", "/routes/all");
  expect(await deleting()).toEqual([200, undefined]);
  expect(await managedIds("used")).toEqual([]);
});

test("leaves nothing of objects that come at the same time", async () => {
  for (let round = 0; round < 5; round++) {
    const token = await createEnvironment("busy");
    const many = Array.from({ length: 200 }, (_, i) =>
      object("SvcWebhook", "shop", `hook-${i}`, { url: `https://hooks.example.com/${round}/${i}` }),
    );
    const applying = ask<{ results: Result[] }>("POST", "/kubernetes/objects", { objects: many }, token);
    while ((await managedIds("busy")).length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    expect((await ask("DELETE", "/environments/busy")).status).toBe(200);
    const { status, json } = await applying;
    expect(status).toBe(200);
    for (const { reason } of json.results) expect(["Synced", "Failed"]).toContain(reason);
    expect(await managedIds("busy")).toEqual([]);
  }
}, 60_000);
