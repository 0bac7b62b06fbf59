/** An exporter's side of the channel against a real hub. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { HubChannel } from "../../../server/kubernetes/exporter/hub-channel.ts";
import { HubClient } from "../../../server/kubernetes/exporter/hub-client.ts";
import { alert } from "../../server/control/samples.ts";
import { findFreePort } from "../../server/free-port.ts";
import { call, type Running, startServer } from "../../server/running.ts";

let server: Running;
let token = "";
const logged: string[] = [];

beforeAll(async () => {
  server = await startServer();
  const made = await api("POST", "/environments/create", { environment: { name: "prod" } });
  token = (made.json as { token: string }).token;
});
afterAll(() => server.stop());

function api(method: string, path: string, body?: object) {
  return call(server, `/api/v1${path}`, {
    method,
    token: server.adminToken,
    headers: { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const hubClient = (own = () => token) => new HubClient({ url: server.url, token: own });

test("answers what the hub asks, hears of synchronisations and rules, and ends at once", async () => {
  const hub = hubClient();
  const webhook = {
    kind: "SvcWebhook",
    metadata: { name: "ops", namespace: "shop", uid: "1" },
    spec: {
      url: "http://127.0.0.1:9/",
      headersFrom: { "X-Token": { secretKeyRef: { name: "hook", key: "token" } } },
    },
  };
  const spec = { timeseries: structuredClone(alert.timeseries) };
  const destination = { type: "webhook", webhookDestination: { uuid: "kubernetes-managed.prod.shop.ops" } };
  spec.timeseries.evaluationRules[0]!.actions = [destination] as never;
  const teller = { kind: "SvcAlert", metadata: { name: "tells", namespace: "shop", uid: "2" }, spec };
  const applied = await hub.apply([webhook, teller]);
  expect(applied.map(({ reason }) => reason)).toEqual(["Synced", "Synced"]);
  const asked: string[] = [];
  const revisions: string[] = [];
  let synchronisations = 0;
  const channel = new HubChannel({
    hub,
    readSecret: async ({ namespace, name, key }) => {
      asked.push(`${namespace}/${name}/${key}`);
      throw new Error("there is no Secret hook in shop");
    },
    onSynchronise: () => {
      synchronisations++;
    },
    onRules: (revision) => revisions.push(revision),
    random: Math.random,
    log: (message) => logged.push(message),
  });
  channel.run();
  const until = async (isDone: () => boolean | Promise<boolean>) => {
    for (let i = 0; i < 200 && !(await isDone()); i++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(await isDone()).toBe(true);
  };
  await until(async () =>
    String((await api("GET", "/alerts/sync")).json.message).includes("triggered in prod"),
  );
  await until(() => synchronisations > 0);
  const tested = await api("POST", "/alerts/kubernetes-managed.prod.shop.tells/test-notification");
  expect(asked).toEqual(["shop/hook/token"]);
  expect(tested.text).toContain("there is no Secret hook in shop");
  const rule = { id: "probes", rules: [{ signals: ["logs"], action: "Exclude" }] };
  await api("POST", "/ingestion-rules", { ingestionRule: rule });
  await until(() => revisions.length > 1);
  expect((await hub.ingestionRules()).revision).toBe(revisions.at(-1));
  const beganMs = performance.now();
  await channel.close();
  expect(performance.now() - beganMs).toBeLessThan(5_000);
  expect(logged).toEqual([]);
});

test("says why the hub refuses, or that it cannot be reached", async () => {
  await expect(hubClient(() => "svc_wrong").apply([])).rejects.toMatchObject({
    status: 401,
    isTemporary: false,
  });
  const url = `http://127.0.0.1:${await findFreePort()}`;
  const away = new HubClient({ url, token: () => token });
  await expect(away.apply([])).rejects.toMatchObject({
    status: 0,
    isTemporary: true,
    message: "the hub cannot be reached: ECONNREFUSED",
  });
});
