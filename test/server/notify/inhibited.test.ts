/** Inhibitions whose source begins to fire after a message was stored, and before it is sent. */
import { expect, onTestFinished, test } from "vitest";
import { Metrics } from "../../../server/metrics/metrics.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { stableId } from "../../../server/model/stable-id.ts";
import { Notifier } from "../../../server/notify/notifier.ts";
import { Disk } from "../alerts/disk.ts";
import { call, ingest, lines, startServer } from "../running.ts";
import { fired, hook, resolved } from "./events.ts";
import { openReceiver } from "./receiver.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const is = (key: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator: "In" as const, values }],
});
const down = fired("down", { alertName: "Cluster down", labels: { cluster: "prod" } });
const slow = (name: string, cluster = "prod") =>
  fired(name, { severity: "warning", labels: { "service.name": name, cluster } });
const endOf = (event: AlertEvent, name: string) => ({ ...resolved(name), labels: event.labels });

/** Alerts that send to one webhook, grouped, a few seconds after they fire; and what it was told. */
async function open() {
  const receiver = await openReceiver();
  const disk = new Disk();
  const inhibition = {
    source: is("alert.name", "Cluster down"),
    target: is("severity", "warning"),
    equal: ["cluster"],
  };
  const scene = {
    nowMs: Date.UTC(2026, 0, 10, 12),
    openFires: [] as readonly AlertEvent[],
    inhibitions: [{ id: "cluster-down", value: { value: inhibition } }],
    notifier: undefined as unknown as Notifier,
    state: disk.open(),
    restart: () => {
      scene.state = disk.open();
      scene.notifier = makeNotifier();
    },
    put: async (...events: AlertEvent[]) => {
      const messages = events.map((event) => ({ event, actions: [hook("h")] }));
      const { changes, stored } = scene.notifier.outbox.prepare({ messages });
      await scene.state.write(changes);
      stored();
    },
    pass: async (ms: number) => {
      const untilMs = scene.nowMs + ms;
      for (;;) {
        await scene.notifier.outbox.sendDue();
        const dueMs = scene.notifier.outbox.nextDueMs();
        if (dueMs > untilMs) break;
        scene.nowMs = Math.max(scene.nowMs, dueMs);
      }
      scene.nowMs = untilMs;
    },
    told: () =>
      receiver.received.map(({ body }) => {
        const { type, data } = JSON.parse(body) as {
          type: string;
          data: { instances: { attributes: Record<string, string> }[] };
        };
        return `${type} ${data.instances.map(({ attributes }) => attributes["service.name"]).join(",")}`;
      }),
    statuses: () => scene.notifier.outbox.list().map(({ status, problem }) => `${status}: ${problem}`),
  };
  const makeNotifier = () =>
    new Notifier({
      store: { append: async () => undefined } as never,
      ...{ state: scene.state, metrics: new Metrics(), log: () => undefined, holdsNotifications: false },
      ...{ now: () => scene.nowMs, elapsed: () => scene.nowMs, canSilence: () => true },
      notify: { publicUrl: "http://x", allowedNetworks: ["127.0.0.0/8"], pagerDutyKeys: {} },
      sources: {
        webhook: (id) => ({ value: { id, url: receiver.url, groupInstances: true }, revision: "1" }),
        mayReceive: () => true,
        silences: () => [],
        secret: async () => ({ problem: "none" }),
        routes: () => [],
        route: () => undefined,
        inhibitions: () => scene.inhibitions,
        openFires: () => scene.openFires,
      },
    });
  scene.notifier = makeNotifier();
  return scene;
}

test("a fire whose message waits as the source begins is told when the source has ended, and others at once", async () => {
  const scene = await open();
  const [cart, pay] = [slow("cart"), slow("pay", "stage")];
  await scene.put(cart, pay);
  scene.openFires = [cart, pay, down];
  await scene.pass(minute);
  expect(scene.told()).toEqual(["alertFired pay"]);
  expect(scene.statuses()).toContain("waiting: silenced by inhibition/cluster-down");
  // For longer than a message may wait, over a restart.
  await scene.pass(2 * day);
  scene.restart();
  await scene.pass(hour);
  expect(scene.told()).toHaveLength(1);
  scene.openFires = [cart, pay];
  await scene.pass(minute);
  expect(scene.told().slice(1)).toEqual(["alertFired cart"]);
  await scene.put(endOf(cart, "cart"));
  await scene.pass(minute);
  expect(scene.told().slice(2)).toEqual(["alertResolved cart"]);
});

test("a fire that ends while it is held back is not told", async () => {
  const scene = await open();
  const cart = slow("cart");
  await scene.put(cart);
  scene.openFires = [cart, down];
  await scene.pass(minute);
  await scene.put(endOf(cart, "cart"));
  scene.openFires = [down];
  await scene.pass(minute);
  scene.openFires = [];
  await scene.pass(day);
  expect(scene.told()).toEqual([]);
  expect(scene.statuses().map((each) => each.split(":")[0])).toEqual(["skipped", "skipped"]);
});

test("a fire is told soon after the inhibition was deleted, or changed so that it does not hold it back", async () => {
  const scene = await open();
  const fires = [slow("cart"), slow("pay", "stage")];
  await scene.put(...fires);
  const stageDown = { ...down, labels: { cluster: "stage" } };
  scene.openFires = [...fires, down, stageDown];
  await scene.pass(minute);
  expect(scene.told()).toEqual([]);
  const [{ id, value }] = scene.inhibitions as [(typeof scene.inhibitions)[0]];
  const narrower = {
    ...value.value,
    source: {
      matchExpressions: [...value.value.source.matchExpressions, ...is("cluster", "prod").matchExpressions],
    },
  };
  scene.inhibitions = [{ id, value: { value: narrower } }];
  await scene.pass(minute);
  expect(scene.told()).toEqual(["alertFired pay"]);
  scene.inhibitions = [];
  await scene.pass(minute);
  expect(scene.told().slice(1)).toEqual(["alertFired cart"]);
});

test("that a fire goes on is left out; that an alert is not judged is told", async () => {
  const scene = await open();
  const cart = slow("cart");
  await scene.put(cart);
  await scene.pass(minute);
  await scene.put(
    { ...cart, id: stableId("repeated", cart.fireId, 1), repeat: 1 },
    { ...slow("judge"), type: "alertUnhealthy", problem: "its query fails" },
  );
  scene.openFires = [cart, down];
  await scene.pass(minute);
  expect(scene.told()).toHaveLength(2);
  expect(scene.statuses()).toContain("skipped: silenced by inhibition/cluster-down");
  scene.openFires = [cart];
  await scene.pass(day);
  expect(scene.told()).toHaveLength(2);
});

test("a server holds a stored message back while a fire of the source is open", async () => {
  const receiver = await openReceiver();
  const server = await startServer({
    notify: { allowedNetworks: ["127.0.0.0/8"] },
    alertTiming: { delayMs: 500 },
  });
  onTestFinished(() => server.stop());
  const ask = async <T>(method: string, path: string, body?: object) => {
    const got = await call<T>(server, `/api/v1${path}`, {
      ...{ token: server.adminToken, method, headers: { "Content-Type": "application/json" } },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(got.status, got.text).toBe(200);
    return got.json;
  };
  /** Saves an alert that fires until it is deleted. */
  const fire = async (name: string) => {
    const persistenceSettings = {
      ...{ datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 },
      missingDatapointBehavior: "ignore",
    };
    const operators = [{ operator: "greaterThan", threshold: 0 }];
    const timeseries = {
      expression: { svcQLTimeseries: { query: "count(logs)", bucketSize: 60 } },
      evaluationRules: [{ name: "any", static: { operators, persistenceSettings } }],
    };
    const alert = { metadata: { id: name, name }, timeseries };
    await ask("POST", "/alerts/update", { alert });
    const isFiring = async () => (await ask<{ state: string }>("GET", `/alerts/${name}/state`)).state;
    await expect.poll(isFiring, { timeout: 20_000 }).toBe("firing");
  };
  type Listed = { notifications: { id: string; status: string; problem: string | null }[] };
  const notification = async () => (await ask<Listed>("GET", "/notifications")).notifications[0];
  const resend = async () => ask("POST", `/notifications/${(await notification())!.id}/resend`);

  await ingest(server, lines([{ timestamp: Date.now() - 60_000, message: "x" }]));
  await ask("PUT", "/webhooks/hook", { webhook: { url: receiver.url } });
  const [source, target] = [is("alert.name", "down"), is("alert.name", "slow")];
  const action = { type: "webhook", webhookDestination: { uuid: "hook" } };
  await ask("PUT", "/routes/muting", { route: { match: target, actions: [action], muteTimes: [{}] } });
  await ask("PUT", "/inhibitions/down", { inhibition: { source, target } });
  await fire("slow");
  await expect.poll(notification, { timeout: 20_000 }).toMatchObject({ status: "waiting", problem: null });
  await ask("DELETE", "/routes/muting");
  await fire("down");
  await resend();
  await expect
    .poll(notification, { timeout: 20_000 })
    .toMatchObject({ status: "waiting", problem: "silenced by inhibition/down" });
  await ask("DELETE", "/alerts/down");
  const isTold = async () => {
    await resend();
    return receiver.received.length > 0;
  };
  await expect.poll(isTold, { timeout: 20_000, interval: 500 }).toBe(true);
}, 90_000);
