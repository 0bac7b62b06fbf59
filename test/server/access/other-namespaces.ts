/** A server whose rows belong to two namespaces, with editors who may read one of them, and what admins configured. */

import { ask } from "../control/asking.ts";
import { alert } from "../control/samples.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";
import { audience, type Issuer, startIssuer } from "./issuer.ts";

export interface Scene {
  server: Running;
  issuer: Issuer;
  /** Tokens by who bears them. */
  tokens: Record<Person, string>;
  stop(): Promise<void>;
}

const people = ["shop", "user of shop", "shop and pay", "pay", "viewer of shop", "editor", "prod"] as const;
export type Person = (typeof people)[number];

export const secrets = { url: "https://ops.example.com/hook", header: "Bearer of-ops" };
const signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** An alert with this query; it notifies the webhooks, the second of the ends. */
export function alertOf(id: string, query: string, ...[uuid, resolvedUuid]: string[]) {
  const [first] = alert.timeseries.evaluationRules;
  const webhookDestination = { uuid, ...(resolvedUuid === undefined ? {} : { resolvedUuid }) };
  const actions = uuid === undefined ? [] : [{ type: "webhook", webhookDestination }];
  return {
    metadata: { name: `Alert ${id}`, id },
    timeseries: {
      expression: { svcQLTimeseries: { query, bucketSize: 60 } },
      evaluationRules: [{ ...first!, actions }],
    },
  };
}

export const everything = 'count(logs{log_level="error"}) by (k8s.namespace.name, team)';
export const ofShop = 'count(logs{k8s.namespace.name="shop"}) by (team)';
export const ofPay = 'count(logs{k8s.namespace.name="pay"}) by (team)';

export async function openScene(): Promise<Scene> {
  const issuer = await startIssuer();
  const server = await startServer({
    identity: { issuer: issuer.url, audiences: [audience], groupsClaim: "groups" },
  });
  const admin = async (method: string, path: string, body: object) => {
    const got = await ask<{ token: string }>(server, method, path, body);
    if (got.status !== 200) throw new Error(`${method} ${path}: ${got.text}`);
    return got.json.token;
  };
  for (const namespace of ["shop", "pay"]) {
    const group = { name: namespace, role: "editor", oidcMappings: [`idp-${namespace}`] };
    await admin("POST", "/groups", { group });
    const signals = ["logs", "traces", "metrics", "profiles", "kubernetesResources"];
    const telemetryRule = { type: "namespace", groups: [namespace], namespace, rules: [{ signals }] };
    await admin("PUT", `/telemetry-rules/${namespace}`, { telemetryRule });
  }
  const tokens: Scene["tokens"] = {
    shop: await admin("POST", "/tokens", { role: "editor", groups: ["shop"], name: "shop" }),
    "user of shop": await issuer.token({ sub: "ann", groups: ["idp-shop"] }),
    "shop and pay": await admin("POST", "/tokens", { role: "editor", groups: ["shop", "pay"] }),
    pay: await admin("POST", "/tokens", { role: "editor", groups: ["pay"] }),
    "viewer of shop": await admin("POST", "/tokens", { role: "viewer", groups: ["shop"] }),
    editor: await admin("POST", "/tokens", { role: "editor" }),
    prod: await admin("POST", "/environments/create", { environment: { name: "prod" } }),
  };
  const scene = {
    server,
    issuer,
    tokens,
    stop: async () => {
      await server.stop();
      await issuer.stop();
    },
  };
  await configure(scene);
  return scene;
}

/** What admins and members configured. */
async function configure({ server, tokens }: Scene): Promise<void> {
  const save = async (path: string, body: object, token = server.adminToken, method = "PUT") => {
    const got = await ask(server, method, path, body, { token });
    if (got.status !== 200) throw new Error(`${path}: ${got.text}`);
  };
  const saveAlert = (sent: object, token?: string) => save("/alerts/update", { alert: sent }, token, "POST");
  const hook = { url: secrets.url, headers: { Authorization: secrets.header }, body: "{}", secret: signing };
  for (const id of ["ops", "ops-ends", "pay-hook", "shop-hook", "shared", "unused", "managed-hook"])
    await save(`/webhooks/${id}`, { webhook: hook });
  const pagerDuty = { type: "pagerDuty", pagerDutyDestination: { routingKey: "of-ops" } };
  const all = alertOf("all", everything, "ops", "ops-ends");
  all.timeseries.evaluationRules[0]!.actions.push(pagerDuty as never);
  await saveAlert(all);
  await saveAlert(alertOf("all-of-shop", ofShop, "shared"));
  await saveAlert(alertOf("pays", "count(logs)", "pay-hook"), tokens.pay);
  await saveAlert(alertOf("shops", "count(logs)", "shop-hook"), tokens.shop);
  await saveAlert(alertOf("both", "count(logs)", "shop-hook"), tokens["shop and pay"]);
  await saveAlert(alertOf("both-again", "count(logs)", "pay-hook"), tokens["shop and pay"]);
  await ask(server, "DELETE", "/alerts/both");
  const endsAt = 4_102_444_800_000;
  await save("/silences/all", { silence: { alertIds: ["all"], endsAt } });
  await save("/silences/payments", {
    silence: { endsAt, match: { matchExpressions: [expression("k8s.namespace.name", "pay")] } },
  });
  await save("/silences/of-shop", { silence: { alertIds: ["all-of-shop"], endsAt } });
  await save("/silences/pays", { silence: { alertIds: ["pays"], endsAt } }, tokens.pay);
  for (const [id, ...namespaces] of [
    ["drop-pay", "pay"],
    ["drop-both", "shop", "pay"],
    ["drop-shop", "shop"],
  ])
    await save(`/ingestion-rules/${id}`, {
      ingestionRule: dropping(["logs"], "k8s.namespace.name", ...namespaces),
    });
  await manage(server, tokens.prod);
  const rows = ["shop", "pay"].map((namespace) => ({
    ...{ message: `row of ${namespace}`, log_level: "error" },
    attributes: { "k8s.namespace.name": namespace },
  }));
  await ingest(server, lines(rows));
}

/** Alerts that Kubernetes manages, all in the namespace shop; members of the group shop may update them by a rule. */
async function manage(server: Running, token: string): Promise<void> {
  const object = (name: string, query: string) => {
    const { timeseries } = alertOf(name, query, "managed-hook");
    return { kind: "SvcAlert", metadata: { name, namespace: "shop", uid: name }, spec: { timeseries } };
  };
  const objects = [object("wide", everything), object("own", ofShop)];
  const applied = await ask(server, "POST", "/kubernetes/objects", { objects }, { token });
  if (!applied.text.includes("Synced")) throw new Error(applied.text);
  const rules = [{ resources: ["alerts"], verbs: ["read", "update"] }];
  const resourceRule = { type: "namespace", groups: ["shop"], namespace: "shop", rules };
  await ask(server, "PUT", "/resource-rules/shop", { resourceRule });
}

export function expression(key: string, ...values: string[]) {
  return { key, operator: "In", values };
}

/** An ingestion rule that drops rows of these signals with one of the values. */
export function dropping(signals: string[], key: string, ...values: string[]) {
  return {
    rules: [{ signals, action: "Exclude", match: { matchExpressions: [expression(key, ...values)] } }],
  };
}
