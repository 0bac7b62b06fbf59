/** The hub's side of Kubernetes over HTTP: objects become managed resources, secrets are asked for at delivery. */

import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { alert, dashboard } from "../../server/control/samples.ts";
import { call, type Running, startServer } from "../../server/running.ts";

let server: Running;
/** Tokens of the exporters of two clusters. */
const tokens: Record<string, string> = {};
let receiver: Server;
const received: { headers: Record<string, unknown>; body: string }[] = [];

beforeAll(async () => {
  receiver = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ headers: req.headers, body });
      // Sends back what it got, as careless receivers do.
      res.statusCode = 500;
      res.end(`${JSON.stringify(req.headers)} ${body}`);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  server = await startServer({ notify: { allowedNetworks: ["127.0.0.0/8"] } });
  for (const name of ["prod", "staging", "Not A Cluster"]) {
    const made = await api<{ token: string }>("POST", "/environments/create", { environment: { name } });
    tokens[name] = made.json.token;
  }
});
afterAll(async () => {
  await server.stop();
  receiver.close();
});

function api<T = Record<string, unknown>>(method: string, path: string, body?: object, token?: string) {
  return call<T>(server, `/api/v1${path}`, {
    method,
    token: token ?? server.adminToken,
    headers: { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

interface Result {
  id: string;
  reason: string;
  message: string;
  isTemporary: boolean;
}

async function apply(cluster: string, ...objects: object[]): Promise<Result[]> {
  const got = await api<{ results: Result[] }>("POST", "/kubernetes/objects", { objects }, tokens[cluster]);
  expect([got.status, got.text]).toEqual([200, got.text]);
  return got.json.results;
}

let uids = 0;
function object(kind: string, namespace: string | undefined, name: string, spec: unknown) {
  return {
    kind,
    metadata: { name, uid: `uid-${uids++}`, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  };
}

const alertSpec = { displayName: "Errors", aiInvestigateOnFire: true, timeseries: { ...alert.timeseries } };
const { content, settings } = dashboard;

describe("objects of a cluster", () => {
  test("become resources with ids and folders of their place, which only the cluster may change", async () => {
    const results = await apply(
      "prod",
      object("SvcAlert", "shop", "errors.high", alertSpec),
      object("SvcDashboard", "shop", "board", { settings, content }),
      object("SvcWebhook", "shop", "ops", { url: "https://hooks.example.com/" }),
      object("SvcClusterIngestionRule", undefined, "no-probes", {
        rules: [{ signals: ["logs"], action: "Exclude" }],
      }),
      object("SvcNamespaceTelemetryRule", "shop", "devs", {
        groups: ["devs"],
        rules: [{ signals: ["logs"] }],
      }),
      object("SvcClusterResourceRule", undefined, "devs", {
        groups: ["devs"],
        rules: [{ resources: ["alerts"], verbs: ["read"], path: "/shop/" }],
      }),
    );
    expect(results.map(({ id, reason, message }) => [id, reason, message])).toEqual([
      ["kubernetes-managed.prod.shop.errors.high", "Synced", ""],
      ["kubernetes-managed.prod.shop.board", "Synced", ""],
      ["kubernetes-managed.prod.shop.ops", "Synced", ""],
      [
        "kubernetes-managed.prod..no-probes",
        "Synced",
        "spec.rules[0] has no match: all logs of the cluster are dropped",
      ],
      [
        "kubernetes-managed.prod.shop.devs",
        "Synced",
        'spec.groups[0] names the group "devs", which does not exist yet',
      ],
      [
        "kubernetes-managed.prod..devs",
        "Synced",
        'spec.groups[0] names the group "devs", which does not exist yet',
      ],
    ]);
    const got = await api<Record<string, object>>("GET", "/alerts/kubernetes-managed.prod.shop.errors.high");
    expect(got.json).toMatchObject({
      alert: { metadata: { name: "Errors" }, investigateOnFire: true, timeseries: alert.timeseries },
      managed: {
        cluster: "prod",
        namespace: "shop",
        kind: "SvcAlert",
        name: "errors.high",
        folderPath: "/alerts/kubernetes-managed/prod/shop/",
      },
      updatedBy: "Kubernetes cluster prod",
    });
    const board = await api<Record<string, object>>("GET", "/dashboards/kubernetes-managed.prod.shop.board");
    expect(board.json.dashboard).toMatchObject({
      metadata: { title: "board", folderPath: "/dashboards/kubernetes-managed/prod/shop/" },
    });
    const rules = await api<{ managed: object }>("GET", "/ingestion-rules");
    expect(rules.json.managed).toEqual({
      "kubernetes-managed.prod..no-probes": {
        cluster: "prod",
        kind: "SvcClusterIngestionRule",
        name: "no-probes",
      },
    });
    const id = "kubernetes-managed.prod.shop.errors.high";
    const changed = await api("POST", "/alerts/update", { alert: { ...alert, metadata: { name: "x", id } } });
    expect([changed.status, changed.json.error]).toEqual([
      409,
      `the alert "${id}" is managed by Kubernetes: change SvcAlert errors.high in shop (cluster prod)`,
    ]);
    expect((await api("DELETE", `/alerts/${id}`)).status).toBe(409);
  });

  test("are refused one by one with the field and the reason, and the last good version stays", async () => {
    const bad = { ...alertSpec, timeseries: structuredClone(alert.timeseries) };
    bad.timeseries.expression.svcQLTimeseries.query = "count(";
    const results = await apply(
      "prod",
      object("SvcAlert", "shop", "errors.high", bad),
      object("SvcAlert", "shop", "typo", { ...alertSpec, descripton: "x" }),
      object("SvcDashboard", "shop", "placed", { content, folder: "/x/" }),
      object("SvcClusterIngestionRule", undefined, "bad", {
        rules: [
          {
            signals: ["logs"],
            action: "Exclude",
            match: { matchExpressions: [{ key: "x", operator: "RegexIn", values: ["(?=a)"] }] },
          },
        ],
      }),
      object("SvcWebhook", "shop", "both", {
        url: "https://hooks.example.com/",
        body: "x",
        bodyFrom: { secretKeyRef: { name: "s", key: "k" } },
      }),
    );
    expect(results.map(({ reason }) => reason)).toEqual([
      "InvalidQuery",
      "InvalidSpec",
      "InvalidSpec",
      "InvalidRegex",
      "InvalidSpec",
    ]);
    expect(results[0]!.message).toMatch(/^spec\.timeseries\.expression\.svcQLTimeseries\.query: /);
    expect(results[1]!.message).toBe('unknown field "spec.descripton"; did you mean description?');
    expect(results[3]!.message).toMatch(
      /^spec\.rules\[0\]\.match\.matchExpressions\[0\]\.values\[0\] must be/,
    );
    const kept = await api<{ alert: object }>("GET", "/alerts/kubernetes-managed.prod.shop.errors.high");
    expect(kept.json.alert).toMatchObject({ timeseries: alert.timeseries });
  });

  test("that have gone are swept, those of other clusters and kinds stay", async () => {
    await apply(
      "staging",
      object("SvcAlert", "shop", "errors.high", alertSpec),
      object("SvcAlert", "a", "b", alertSpec),
    );
    await apply("prod", object("SvcAlert", "pay", "slow", alertSpec));
    const sweep = { kind: "SvcAlert", kept: [{ namespace: "pay", name: "slow" }] };
    const swept = await api<{ removed: number }>("POST", "/kubernetes/objects/sweep", sweep, tokens.prod);
    expect(swept.json).toEqual({ removed: 1 });
    const ids = async () => (await api<{ managed: object }>("GET", "/alerts")).json.managed;
    expect(Object.keys(await ids()).sort()).toEqual([
      "kubernetes-managed.prod.pay.slow",
      "kubernetes-managed.staging.a.b",
      "kubernetes-managed.staging.shop.errors.high",
    ]);
    const gone = { objects: [{ kind: "SvcAlert", namespace: "a", name: "b" }] };
    // An object of another cluster cannot be named.
    expect((await api("POST", "/kubernetes/objects/delete", gone, tokens.prod)).json).toEqual({ removed: 0 });
    expect((await api("POST", "/kubernetes/objects/delete", gone, tokens.staging)).json).toEqual({
      removed: 1,
    });
    expect((await api("GET", "/dashboards/kubernetes-managed.prod.shop.board")).status).toBe(200);
  });

  test("are swept within a range of names alone where one is given", async () => {
    const names = ["a", "b", "c", "d", "e"];
    await apply("prod", ...names.map((name) => object("SvcAlert", "range", name, alertSpec)));
    const sweep = async (more: object) => {
      const kept = [{ namespace: "range", name: "c" }];
      const body = { kind: "SvcAlert", kept, ...more };
      return (await api("POST", "/kubernetes/objects/sweep", body, tokens.prod)).json;
    };
    const left = async () => {
      const { managed } = (await api<{ managed: object }>("GET", "/alerts")).json;
      const ids = Object.keys(managed).filter((id) => id.startsWith("kubernetes-managed.prod.range."));
      return ids
        .map((id) => id.at(-1))
        .sort()
        .join("");
    };
    expect(await sweep({ after: "range/a", upTo: "range/d" })).toEqual({ removed: 2 });
    expect(await left()).toBe("ace");
    expect(await sweep({ after: "range/d" })).toEqual({ removed: 1 });
    expect(await left()).toBe("ac");
    expect(await sweep({ after: "range", upTo: "range/b" })).toEqual({ removed: 1 });
    expect(await left()).toBe("c");
  });

  test("are taken from exporters alone, and never for groups", async () => {
    const body = { objects: [object("SvcAlert", "shop", "x", alertSpec)] };
    expect((await api("POST", "/kubernetes/objects", body)).status).toBe(403);
    const odd = await api("POST", "/kubernetes/objects", body, tokens["Not A Cluster"]);
    expect([odd.status, odd.json.error]).toEqual([
      403,
      expect.stringContaining('"Not A Cluster" cannot be a cluster'),
    ]);
    const group = { objects: [object("SvcGroup", undefined, "admins", { oidcMappings: ["everyone"] })] };
    expect((await api("POST", "/kubernetes/objects", group, tokens.prod)).status).toBe(400);
  });
});

describe("the channel", () => {
  const poll = (cluster: string, more: object = {}) =>
    api<{
      secrets: { id: string; name: string; key: string; namespace: string }[];
      synchronisations: number;
      rulesRevision: string;
    }>(
      "POST",
      "/kubernetes/channel",
      { exporter: "e1", secretRefs: true, synchronisations: 0, secrets: [], ...more },
      tokens[cluster],
    );

  test("tells of a synchronisation that was asked for", async () => {
    const none = await api("GET", "/dashboards/sync");
    expect(none.json.message).toBe("No cluster's exporter is connected: there is nothing to synchronise.");
    const waiting = poll("prod");
    // The exporter is known once its poll has arrived.
    let message: unknown;
    for (let i = 0; i < 100; i++) {
      message = (await api("GET", "/dashboards/sync")).json.message;
      if (message !== none.json.message) break;
      await sleep(20);
    }
    expect(message).toBe("The synchronisation of dashboards from Kubernetes was triggered in prod.");
    expect((await waiting).json.synchronisations).toBe(1);
  });

  test("brings the value of a Secret for one delivery, and nothing keeps it", async () => {
    const secret = "s3cr3t-value-that-must-not-stay";
    const { port } = receiver.address() as AddressInfo;
    await apply(
      "prod",
      object("SvcWebhook", "shop", "secretive", {
        url: `http://127.0.0.1:${port}/`,
        headersFrom: { Authorization: { secretKeyRef: { name: "hook", key: "token" } } },
        bodyFrom: { secretKeyRef: { name: "hook", key: "body" } },
      }),
    );
    const uuid = "kubernetes-managed.prod.shop.secretive";
    const spec = structuredClone(alertSpec);
    spec.timeseries.evaluationRules[0]!.actions = [
      { type: "webhook", webhookDestination: { uuid } },
    ] as never;
    await apply("prod", object("SvcAlert", "shop", "tells", spec));
    const polling = (async () => {
      const asked: string[] = [];
      const answers: object[] = [];
      while (asked.length < 2) {
        const { secrets } = (await poll("prod", { synchronisations: 1, secrets: answers.splice(0) })).json;
        for (const { id, namespace, name, key } of secrets) {
          asked.push(`${namespace}/${name}/${key}`);
          answers.push({ id, value: key === "token" ? secret : `{"text": "$alert_name ${secret}"}` });
        }
      }
      await poll("prod", { synchronisations: 0, secrets: answers });
      return asked.sort();
    })();
    const tested = await api("POST", "/alerts/kubernetes-managed.prod.shop.tells/test-notification");
    expect(await polling).toEqual(["shop/hook/body", "shop/hook/token"]);
    expect(received.at(-1)!.headers.authorization).toBe(secret);
    expect(received.at(-1)!.body).toContain(`Errors ${secret}`);
    expect(tested.text).not.toContain(secret);
    expect(tested.text).toContain("the receiver answered 500");
    const read = await api("GET", `/webhooks/${uuid}`);
    expect(read.text).toContain('"key":"token"');
    const backup = await api("POST", "/backup");
    for (const text of [
      read.text,
      backup.text,
      server.logged.join("\n"),
      (await api("GET", "/notifications")).text,
    ])
      expect(text).not.toContain(secret);
    const found = execFileSync("sh", ["-c", `grep -rl "${secret}" "${server.dir}" || true`]).toString();
    expect(found).toBe("");
  });

  test("without the opt-in the delivery says what to do", async () => {
    const waiting = poll("prod", { secretRefs: false, exporter: "e2" });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const tested = await api("POST", "/alerts/kubernetes-managed.prod.shop.tells/test-notification");
    expect(tested.text).toContain("set secretRefs.enabled in its chart");
    await api("GET", "/dashboards/sync");
    await waiting;
  });

  test("gives a cluster the ingestion rules that hold for it, with a revision that changes with them", async () => {
    const get = async (cluster: string) =>
      (
        await api<{ revision: string; rules: { id: string }[] }>(
          "GET",
          "/kubernetes/ingestion-rules",
          undefined,
          tokens[cluster],
        )
      ).json;
    const [prod, staging] = [await get("prod"), await get("staging")];
    expect(prod.rules.map(({ id }) => id)).toEqual(["kubernetes-managed.prod..no-probes"]);
    expect(staging.rules).toEqual([]);
    const waiting = poll("staging", { exporter: "s1" });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const rule = { id: "everywhere", rules: [{ signals: ["traces"], action: "Exclude" }] };
    await api("POST", "/ingestion-rules", { ingestionRule: rule });
    expect((await waiting).json.rulesRevision).not.toBe(staging.revision);
    expect((await get("staging")).rules.map(({ id }) => id)).toEqual(["everywhere"]);
  });
});
