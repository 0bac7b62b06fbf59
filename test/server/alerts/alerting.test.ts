/** The whole way: rows come in, an alert that was saved over the API fires, a webhook hears of it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReceiver } from "../notify/receiver.ts";
import { call, ingest, lines, type Running, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ notify: { allowedNetworks: ["127.0.0.0/8"] } });
});
afterAll(() => server.stop());

function admin<T = Record<string, unknown>>(path: string, body?: unknown, method?: string) {
  return call<T>(server, `/api/v1${path}`, {
    token: server.adminToken,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    ...(method === undefined ? {} : { method }),
  });
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("an alert fires, is told, is silenced, explained and deleted", async () => {
  const receiver = await openReceiver(200);
  const minute = Math.floor((Date.now() - 60_000) / 60_000) * 60_000;
  const rows = Array.from({ length: 30 }, (_, i) => ({
    timestamp: minute - (i % 3) * 60_000 - 1_000 * i,
    log_level: "error",
    message: `failed ${i}`,
    attributes: { "service.name": i % 2 === 0 ? "cart" : "mail" },
  }));
  expect((await ingest(server, lines(rows))).status).toBe(200);
  const hook = { url: `${receiver.url}/in`, displayName: "hook" };
  const { id: uuid } = (await admin<{ id: string }>("/webhooks", { webhook: hook })).json;
  const alert = {
    metadata: { name: "errors", description: "too many" },
    timeseries: {
      expression: {
        svcQLTimeseries: { query: 'count(logs{log_level="error"}) by (service.name)', bucketSize: 60 },
      },
      evaluationRules: [
        {
          name: "any",
          static: {
            operators: [{ operator: "greaterThan", threshold: 0 }],
            persistenceSettings: {
              datapointsToAlarm: 1,
              datapointsInEvaluationWindow: 5,
              missingDatapointBehavior: "ignore",
            },
          },
          actions: [{ type: "webhook", webhookDestination: { uuid, notifyOnResolve: true } }],
        },
      ],
    },
  };
  const saved = await admin<{ id: string }>("/alerts/update", { alert });
  expect(saved.text).toContain("id");
  const { id } = saved.json;
  await until(async () => (receiver.received.length >= 2 ? true : undefined));
  const events = receiver.received.map(
    ({ body }) => JSON.parse(body) as { type: string; data: { attributes: object; fireId: string } },
  );
  expect(events.map(({ type }) => type)).toEqual(["alertFired", "alertFired"]);
  expect(events.map(({ data }) => data.attributes)).toEqual([
    { "service.name": "cart" },
    { "service.name": "mail" },
  ]);

  const state = await admin<{ state: string; instances: unknown[] }>(`/alerts/${id}/state`);
  expect(state.json).toMatchObject({ state: "firing", error: null });
  const { fires } = (await admin<{ fires: { fireId: string; told: string }[] }>(`/alerts/${id}/fires`)).json;
  expect(fires.map(({ fireId }) => fireId).sort()).toEqual(events.map(({ data }) => data.fireId).sort());
  const { evaluations } = (
    await admin<{ evaluations: { instances: unknown[] }[] }>(`/alerts/${id}/evaluations`)
  ).json;
  expect(evaluations[0]!.instances).toHaveLength(2);

  const sent = await until(async () => {
    const { notifications } = (
      await admin<{ notifications: { id: string; status: string }[] }>("/notifications")
    ).json;
    return notifications.every(({ status }) => status === "delivered") ? notifications : undefined;
  });
  expect((await admin(`/notifications/${sent[0]!.id}/resend`, undefined, "POST")).status).toBe(200);
  await until(async () => (receiver.received.length >= 3 ? true : undefined));
  const tested = await admin<{ results: unknown[] }>(`/alerts/${id}/test-notification`, undefined, "POST");
  expect(tested.json.results).toEqual([{ type: "webhook", delivered: true, problem: null }]);
  expect((await admin(`/webhooks/${uuid}/test`, undefined, "POST")).json).toEqual({
    delivered: true,
    problem: null,
  });
  expect((await admin("/alerts/none/state")).status).toBe(404);
  await silenceAndLook(id);

  const { text } = await call(server, "/metrics", { token: server.adminToken });
  for (const name of [
    "svc_alert_rules 1",
    "svc_alert_instances 2",
    "svc_alert_lag_seconds",
    "svc_notifications",
  ])
    expect(text).toContain(name);

  expect((await admin(`/alerts/${id}`, undefined, "DELETE")).status).toBe(200);
  const ends = await until(async () => {
    const found = receiver.received.map(
      ({ body }) => JSON.parse(body) as { type: string; data: { resolveReason: string } },
    );
    const resolved = found.filter(({ type }) => type === "alertResolved");
    return resolved.length === 2 ? resolved : undefined;
  });
  expect(ends.map(({ data }) => data.resolveReason)).toEqual(["deleted", "deleted"]);
});

/** A silence is shown on the alert, and on the instances that it covers. */
async function silenceAndLook(id: string): Promise<void> {
  const matchExpressions = [{ key: "service.name", operator: "In", values: ["cart"] }];
  const silence = {
    comment: "we know",
    endsAt: Date.now() + 3_600_000,
    alertIds: [id],
    match: { matchExpressions },
  };
  const made = (await admin<{ id: string }>("/silences", { silence })).json;
  const { json } = await admin<{
    instances: { labels: Record<string, string>; silencedBy: string | null }[];
  }>(`/alerts/${id}/state`);
  expect(json).toMatchObject({
    health: "ok",
    silences: [{ id: made.id, comment: "we know", endsAt: silence.endsAt, matchExpressions }],
  });
  const covered = json.instances.map(({ labels, silencedBy }) => [labels["service.name"], silencedBy]);
  expect(covered.sort()).toEqual([
    ["cart", made.id],
    ["mail", null],
  ]);
}

test("what is given up is shown by the API, in the metrics and in the logs", async () => {
  const receiver = await openReceiver(410);
  const { id: uuid } = (
    await admin<{ id: string }>("/webhooks", { webhook: { url: receiver.url, displayName: "gone" } })
  ).json;
  const alert = {
    metadata: { id: "unheard", name: "unheard" },
    timeseries: {
      expression: { svcQLTimeseries: { query: "count(logs)", bucketSize: 60 } },
      evaluationRules: [
        {
          name: "any",
          static: {
            operators: [{ operator: "greaterThanOrEqual", threshold: 0 }],
            persistenceSettings: {
              datapointsToAlarm: 1,
              datapointsInEvaluationWindow: 5,
              missingDatapointBehavior: "breaching",
            },
          },
          actions: [{ type: "webhook", webhookDestination: { uuid } }],
        },
      ],
    },
  };
  await admin("/alerts/update", { alert });
  const given = await until(async () => {
    type Listed = {
      notifications: { id: string; alertId: string; status: string; problem: string | null }[];
    };
    const { notifications } = (await admin<Listed>("/notifications")).json;
    return notifications.find(({ alertId, status }) => alertId === "unheard" && status === "givenUp");
  });
  expect(given.problem).toContain("answered 410");
  expect((await admin(`/webhooks/${uuid}`)).json).toMatchObject({ switchedOff: true });
  const off = `actions[0] reaches nobody: the webhook ${JSON.stringify(uuid)} answered 410`;
  const place = "alert.timeseries.evaluationRules[0]";
  const { undeliverable } = (await admin<{ undeliverable: string[] }>("/alerts/unheard/state")).json;
  expect(undeliverable).toEqual([expect.stringContaining(`${place}.${off}`) as string]);
  expect((await admin("/alerts/update", { alert })).json.warnings).toEqual(undeliverable);
  await admin(`/webhooks/${uuid}`, { webhook: { url: receiver.url, displayName: "gone" } }, "PUT");
  expect((await admin(`/webhooks/${uuid}`)).json).toMatchObject({ switchedOff: false });
  const { text } = await call(server, "/metrics", { token: server.adminToken });
  expect(text).toContain('svc_notifications_given_up_total{type="webhook"} 1');
  const row = await until(async () => {
    const query = 'logs{notification.status="givenUp"}';
    const found = await admin<{ logs: { message: string; attributes: Record<string, string> }[] }>(
      "/query/logs",
      {
        query,
        startTime: Date.now() - 3_600_000,
        endTime: Date.now() + 60_000,
      },
    );
    return found.json.logs[0];
  });
  expect(row.message).toContain(`(alertFired of alert "unheard") to webhook ${uuid} was given up`);
  expect(row.attributes).toMatchObject({
    "service.name": "svc",
    "alert.id": "unheard",
    "notification.id": given.id,
  });
});

test("an alert's queries see what whoever saved it may see", async () => {
  const minute = Math.floor((Date.now() - 60_000) / 60_000) * 60_000;
  const rows = ["cart", "bank"].map((name, i) => ({
    timestamp: minute - 1_000 - i,
    message: "seen",
    attributes: { "service.name": name, "k8s.cluster.name": "prod", "k8s.namespace.name": "shop" },
  }));
  await ingest(server, lines(rows));
  await admin("/groups", { group: { name: "developers" } });
  const match = { matchExpressions: [{ key: "service.name", operator: "In", values: ["cart"] }] };
  const telemetryRule = {
    type: "cluster",
    groups: ["developers"],
    cluster: "prod",
    rules: [{ signals: ["logs"], match }],
  };
  expect((await admin("/telemetry-rules", { telemetryRule })).text).toContain("id");
  const made = await admin<{ id: string; token: string }>("/tokens", {
    role: "editor",
    name: "dev",
    groups: ["developers"],
  });
  const alert = {
    metadata: { id: "narrow", name: "narrow" },
    timeseries: {
      expression: {
        svcQLTimeseries: { query: 'count(logs{k8s.cluster.name="prod"}) by (service.name)', bucketSize: 5 },
      },
      evaluationRules: [
        {
          name: "any",
          static: {
            operators: [{ operator: "greaterThan", threshold: 0 }],
            persistenceSettings: {
              datapointsToAlarm: 1,
              // Five minutes of five seconds each: the next evaluation is never far.
              datapointsInEvaluationWindow: 60,
              missingDatapointBehavior: "ignore",
            },
          },
        },
      ],
    },
  };
  const instances = async () =>
    until(async () => {
      const { json } = await admin<{ state: string; instances: { labels: Record<string, string> }[] }>(
        "/alerts/narrow/state",
      );
      return json.state === "firing"
        ? json.instances.map(({ labels }) => labels["service.name"]).sort()
        : undefined;
    });
  const headers = { "Content-Type": "application/json" };
  const saved = await call(server, "/api/v1/alerts/update", {
    token: made.json.token,
    headers,
    body: JSON.stringify({ alert }),
  });
  expect(saved.text).toContain("narrow");
  expect(await instances()).toEqual(["cart"]);
  const lost = structuredClone(alert);
  lost.metadata = { id: "unreadable", name: "unreadable" };
  lost.timeseries.expression.svcQLTimeseries.query = 'count(logs{service.name="bank"})';
  await call(server, "/api/v1/alerts/update", {
    token: made.json.token,
    headers,
    body: JSON.stringify({ alert: lost }),
  });
  const failed = await until(async () => {
    const { json } = await admin<{ error: string | null }>("/alerts/unreadable/state");
    return json.error === null ? undefined : json;
  });
  expect(failed).toMatchObject({
    health: "error",
    state: "noData",
    error: expect.stringContaining("access lost"),
  });
  await checkRevocation(made.json.id);
  await admin("/alerts/narrow", undefined, "DELETE");
  await until(async () => ((await admin("/alerts/narrow/state")).status === 404 ? true : undefined));
  await admin("/alerts/update", { alert: { ...alert, metadata: { id: "wide", name: "wide" } } });
  const wide = await until(async () => {
    const { json } = await admin<{ state: string; instances: unknown[] }>("/alerts/wide/state");
    return json.state === "firing" ? json.instances.length : undefined;
  });
  expect(wide).toBe(2);
  await checkMembers();
});

/** Revoking a token names the alerts that it saved, which go on with the rights of its groups. */
async function checkRevocation(tokenId: string): Promise<void> {
  const { json } = await admin<{ alerts: { id: string }[]; warnings: string[] }>(
    `/tokens/${tokenId}`,
    undefined,
    "DELETE",
  );
  expect(json.alerts.map(({ id }) => id).sort()).toEqual(["narrow", "unreadable"]);
  expect(json.warnings).toEqual([
    expect.stringMatching(/go on with the rights of its groups developers/) as string,
  ]);
  const before = (await admin<{ evaluatedThrough: number }>("/alerts/narrow/state")).json.evaluatedThrough;
  const later = await until(async () => {
    const { json: state } = await admin<{
      evaluatedThrough: number;
      error: string | null;
      instances: object[];
    }>("/alerts/narrow/state");
    return state.evaluatedThrough > before ? state : undefined;
  });
  expect(later).toMatchObject({ error: null, instances: [{ labels: { "service.name": "cart" } }] });
}

/** Members see what an alert found where they read all that whoever saved it reads, and else its state alone. */
async function checkMembers(): Promise<void> {
  const tokenOf = async (groups: string[]) =>
    (await admin<{ token: string }>("/tokens", { role: "viewer", groups })).json.token;
  const member = await tokenOf(["developers", "others"]);
  const parts = ["state", "fires", "history", "evaluations"];
  const seen = async (id: string, token: string) =>
    (await Promise.all(parts.map((part) => call(server, `/api/v1/alerts/${id}/${part}`, { token })))).map(
      ({ text }) => text,
    );
  for (const text of await seen("wide", member)) {
    expect(text).not.toMatch(/cart|bank|service\.name|"value"/);
    expect(JSON.parse(text)).toMatchObject({ warnings: [expect.stringContaining("rows that you may not")] });
  }
  expect((await seen("wide", member))[0]).toContain('"state":"firing"');
  for (const text of await seen("wide", server.adminToken)) expect(text).toContain("bank");
}

test("an alert whose saver lost access says so, and keeps its state", async () => {
  await admin("/groups", { group: { name: "leavers" } });
  const made = await admin<{ token: string }>("/tokens", {
    role: "editor",
    name: "eve",
    groups: ["leavers"],
  });
  const evaluationRules = [
    {
      name: "any",
      static: {
        operators: [{ operator: "greaterThan", threshold: 0 }],
        persistenceSettings: { datapointsToAlarm: 1, datapointsInEvaluationWindow: 1 },
      },
    },
  ];
  const expression = { svcQLTimeseries: { query: "count(logs)", bucketSize: 1 } };
  const alert = { metadata: { id: "lost", name: "lost" }, timeseries: { expression, evaluationRules } };
  const saved = await call(server, "/api/v1/alerts/update", {
    token: made.json.token,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ alert }),
  });
  expect(saved.status).toBe(200);
  const error = await until(async () => {
    const { json } = await admin<{ error: string | null }>("/alerts/lost/state");
    return json.error ?? undefined;
  });
  expect(error).toMatch(/^access lost: no telemetry rule lets "eve", .* read the logs/);
});
