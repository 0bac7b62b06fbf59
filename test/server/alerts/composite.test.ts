/** Alerts over the states of other alerts: by the metric `svc_alert_firing`, which has a sample of each open fire. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../engine/index.ts";
import { planTimeseries, queryTimeseries } from "../../../query/index.ts";
import { FiringSamples } from "../../../server/alerts/firing-samples.ts";
import { firingSamplesMax } from "../../../server/alerts/limits.ts";
import type { Fire } from "../../../server/alerts/state/fire.ts";
import { openReceiver } from "../notify/receiver.ts";
import { call, ingest, lines, startServer } from "../running.ts";

function fireOf(id: string, alertId: string, labels: Record<string, string>, rest: Partial<Fire> = {}): Fire {
  const names = { alertName: `the alert ${alertId}`, rule: "high" };
  return { id, alertId, labels, firedAtMs: 0, ...names, ...rest } as Fire;
}

async function openScene() {
  const dir = mkdtempSync(join(tmpdir(), "svc-composite-"));
  const store = await openStore({ dir, threads: 1 });
  onTestFinished(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });
  const scene = { open: [] as Fire[], nowMs: Date.UTC(2026, 0, 10, 12), logged: [] as string[] };
  const samples = new FiringSamples({
    store,
    records: { openFires: () => scene.open },
    now: () => scene.nowMs,
    log: (_level, message) => scene.logged.push(message),
  });
  const ask = async (query: string) => {
    const range = { startMs: scene.nowMs, endMs: scene.nowMs + 9_999, bucketSeconds: 10 };
    const { series } = await queryTimeseries(store, { ...range, query, plan: planTimeseries(query) });
    return series.map(({ labels, points }) => [labels, points.map(([, value]) => value)]);
  };
  return { scene, samples, ask };
}

test("open fires have samples of 1, which alerts compare, count and join; fires that ended have one of 0", async () => {
  const { scene, samples, ask } = await openScene();
  const team = { severity: "critical", alertLabels: { team: "shop" } } as const;
  scene.open = [
    fireOf("1", "errors", { "service.name": "cart" }, team),
    fireOf("2", "errors", { "service.name": "mail" }, team),
    fireOf("3", "slow", { "service.name": "cart" }),
  ];
  await samples.write();
  const both =
    'max(svc_alert_firing{alert.id="errors"}) by (service.name) and max(svc_alert_firing{alert.id="slow"}) by (service.name)';
  expect(await ask(both)).toEqual([[{ "service.name": "cart" }, [1]]]);
  const without =
    'max(svc_alert_firing{alert.id="errors"}) by (service.name) unless max(svc_alert_firing{alert.id="slow"}) by (service.name)';
  expect(await ask(without)).toEqual([[{ "service.name": "mail" }, [1]]]);
  expect(await ask('sum(svc_alert_firing{alert.labels.team="shop"}) by (alert.name)')).toEqual([
    [{ "alert.name": "the alert errors" }, [2]],
  ]);
  expect(await ask('sum(max(svc_alert_firing{alert.labels.team="shop"}) by (alert.id))')).toEqual([
    [{}, [1]],
  ]);
  expect(await ask('sum(svc_alert_firing{alert.severity="critical", alert.rule="high"})')).toEqual([
    [{}, [2]],
  ]);

  scene.nowMs += 10_000;
  scene.open = [scene.open[0]!, fireOf("4", "slow", { "service.name": "cart" })];
  await samples.write();
  expect(await ask("max(svc_alert_firing) by (alert.id, service.name)")).toEqual([
    [{ "alert.id": "errors", "service.name": "cart" }, [1]],
    [{ "alert.id": "errors", "service.name": "mail" }, [0]],
    [{ "alert.id": "slow", "service.name": "cart" }, [1]],
  ]);
  scene.nowMs += 10_000;
  scene.open = [];
  await samples.write();
  scene.nowMs += 10_000;
  await samples.write();
  expect(await ask("max(svc_alert_firing)")).toEqual([]);
});

test("labels of the alert replace those of the same name in rows", async () => {
  const { scene, samples, ask } = await openScene();
  scene.open = [fireOf("1", "errors", { "alert.id": "forged", "alert.name": "forged" })];
  await samples.write();
  expect(await ask("max(svc_alert_firing) by (alert.id, alert.name)")).toEqual([
    [{ "alert.id": "errors", "alert.name": "the alert errors" }, [1]],
  ]);
});

test("of too many open fires the oldest have samples, and that is logged once", async () => {
  const { scene, samples, ask } = await openScene();
  scene.open = Array.from({ length: firingSamplesMax + 5 }, (_, i) =>
    fireOf(`${i}`, "errors", { pod: `p${i}` }, { firedAtMs: firingSamplesMax + 5 - i }),
  );
  await samples.write();
  scene.nowMs += 10_000;
  await samples.write();
  expect(await ask("sum(svc_alert_firing)")).toEqual([[{}, [firingSamplesMax]]]);
  expect(await ask('max(svc_alert_firing{pod=~"p[0-5]"}) by (pod)')).toEqual([[{ pod: "p5" }, [1]]]);
  expect(scene.logged).toEqual(["5005 fires are open: svc_alert_firing has the oldest 5000"]);
});

test("an alert fires because another one does", async () => {
  const receiver = await openReceiver(200);
  const server = await startServer({
    notify: { allowedNetworks: ["127.0.0.0/8"] },
    alertTiming: { delayMs: 500 },
  });
  onTestFinished(() => server.stop());
  const post = async (path: string, body: unknown) => {
    const { json, status, text } = await call<{ id: string }>(server, `/api/v1${path}`, {
      ...{ token: server.adminToken, method: "POST", body: JSON.stringify(body) },
      headers: { "Content-Type": "application/json" },
    });
    expect(status, text).toBe(200);
    return json.id;
  };
  const uuid = await post("/webhooks", { webhook: { url: `${receiver.url}/in`, displayName: "hook" } });
  const save = (name: string, query: string, bucketSize: number, actions: object[]) => {
    const persistence = { datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 };
    const rule = {
      name: "any",
      static: {
        operators: [{ operator: "greaterThan", threshold: 0 }],
        persistenceSettings: { ...persistence, missingDatapointBehavior: "ignore" },
      },
      actions,
    };
    const timeseries = {
      expression: { svcQLTimeseries: { query, bucketSize } },
      evaluationRules: [rule],
    };
    return post("/alerts/update", { alert: { metadata: { name }, timeseries } });
  };
  const row = { timestamp: Date.now() - 60_000, log_level: "error", message: "x" };
  expect((await ingest(server, lines([row]))).status).toBe(200);
  const base = await save("base", "count(logs)", 60, []);
  const over = `max(svc_alert_firing{alert.id="${base}"}) by (alert.name)`;
  await save("composite", over, 2, [{ type: "webhook", webhookDestination: { uuid } }]);
  while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 100));
  const { type, data } = JSON.parse(receiver.received[0]!.body) as { type: string; data: object };
  expect(type).toBe("alertFired");
  expect(data).toMatchObject({ alertName: "composite", attributes: { "alert.name": "base" } });
}, 60_000);
