/** Roles × scopes × resources × uses over HTTP: who may change what, by the namespaces of the rows that it is about. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { dashboard, savedSearch } from "../control/samples.ts";
import {
  alertOf,
  dropping,
  everything,
  expression,
  ofPay,
  ofShop,
  openScene,
  type Scene,
} from "./other-namespaces.ts";

type Namespace = "shop" | "pay" | "elsewhere";
const anywhere: Namespace[] = ["shop", "pay", "elsewhere"];

/** What a caller reads; null: all, since no groups bind them. */
const scopes: Record<string, Namespace[] | null> = {
  "no groups": null,
  shop: ["shop"],
  pay: ["pay"],
  "shop and pay": ["shop", "pay"],
  "a group without rules": [],
};
const groupsOf: Record<string, string[] | undefined> = {
  "no groups": undefined,
  shop: ["shop"],
  pay: ["pay"],
  "shop and pay": ["shop", "pay"],
  "a group without rules": ["guests"],
};
const roles = ["admin", "editor", "viewer", "ingest", "user"] as const;

/** Who saved a resource: an admin, or an editor of a scope. */
type Saver = "admin" | "shop" | "pay" | "shop and pay";

interface Resource {
  kind: "alert" | "webhook" | "silence" | "ingestionRule" | "dashboard" | "savedSearch";
  id: string;
  savedBy: Saver;
  body: object;
  /** The namespaces of the rows that a change of it is about. */
  rows: Namespace[];
  /** Only whoever is in all groups of its saver may change it. */
  isOwned?: boolean;
}

const paths: Record<Resource["kind"], string> = {
  alert: "/alerts",
  webhook: "/webhooks",
  silence: "/silences",
  ingestionRule: "/ingestion-rules",
  dashboard: "/dashboards",
  savedSearch: "/saved-searches",
};

const url = "https://hooks.example.com/";
const endsAt = 4_102_444_800_000;
const inNamespace = (...names: string[]) => ({
  matchExpressions: [expression("k8s.namespace.name", ...names)],
});

/** Webhooks first, then the alerts that name them, then what is about alerts. */
const resources: Resource[] = [
  ...(["m-unused", "m-shop", "m-pay", "m-all", "m-both", "m-ends"] as const).map((id): Resource => {
    const rows = {
      "m-unused": [],
      "m-shop": ["shop"],
      "m-pay": ["pay"],
      "m-all": anywhere,
      "m-both": ["shop", "pay"],
      "m-ends": ["pay"],
    };
    return { kind: "webhook", id, savedBy: "admin", body: { id, url }, rows: rows[id] as Namespace[] };
  }),
  ...(
    [
      ["a-all", "admin", everything, ["m-all"], anywhere],
      ["a-shop", "admin", ofShop, ["m-shop"], ["shop"]],
      ["a-pay", "admin", ofPay, ["m-pay", "m-ends"], ["pay"]],
      ["a-of-shop", "shop", "count(logs)", ["m-shop"], ["shop"]],
      ["a-of-pay", "pay", "count(logs)", ["m-pay", "m-both"], ["pay"]],
      ["a-of-both", "shop and pay", "count(logs) by (k8s.namespace.name)", ["m-both"], ["shop", "pay"]],
    ] as const
  ).map(([id, savedBy, query, webhooks, rows]): Resource => {
    return {
      kind: "alert",
      id,
      savedBy,
      body: alertOf(id, query, ...webhooks),
      rows: [...rows],
      isOwned: true,
    };
  }),
  ...(
    [
      ["s-all", "admin", { alertIds: ["a-all"] }, anywhere],
      ["s-shop", "admin", { alertIds: ["a-shop"] }, ["shop"]],
      ["s-pay", "admin", { alertIds: ["a-pay"] }, ["pay"]],
      ["s-in-shop", "admin", { alertIds: ["a-all"], match: inNamespace("shop") }, ["shop"]],
      [
        "s-in-both",
        "admin",
        { alertIds: ["a-all", "a-shop"], match: inNamespace("shop", "pay") },
        ["shop", "pay"],
      ],
      ["s-shop-and-pay", "admin", { alertIds: ["a-shop", "a-pay"] }, ["shop", "pay"]],
      ["s-any", "admin", { match: inNamespace("shop") }, anywhere],
      ["s-of-shop", "shop", { match: inNamespace("shop") }, ["shop"]],
      ["s-of-pay", "pay", { alertIds: ["a-of-pay"] }, ["pay"]],
    ] as const
  ).map(([id, savedBy, silence, rows]): Resource => {
    return { kind: "silence", id, savedBy, body: { id, endsAt, ...silence }, rows: [...rows] };
  }),
  ...(
    [
      ["i-shop", ["shop"], dropping(["logs", "traces"], "k8s.namespace.name", "shop")],
      ["i-pay", ["pay"], dropping(["metrics"], "k8s.namespace.name", "pay")],
      ["i-both", ["shop", "pay"], dropping(["profiles"], "k8s.namespace.name", "shop", "pay")],
      ["i-elsewhere", ["elsewhere"], dropping(["kubernetesResources"], "k8s.namespace.name", "elsewhere")],
      ["i-team", anywhere, dropping(["logs"], "team", "one")],
    ] as const
  ).map(([id, rows, rule]): Resource => {
    return { kind: "ingestionRule", id, savedBy: "admin", body: { id, ...rule }, rows: [...rows] };
  }),
  // They show what each reader may read, and decide on no row.
  { kind: "dashboard", id: dashboard.metadata.id, savedBy: "admin", body: dashboard, rows: [] },
  { kind: "savedSearch", id: savedSearch.id, savedBy: "admin", body: savedSearch, rows: [] },
];

let scene: Scene;
const tokens = new Map<string, string>();
beforeAll(async () => {
  scene = await openScene();
  const { server, issuer } = scene;
  const guests = { name: "guests", role: "editor", oidcMappings: ["idp-guests"] };
  await ask(server, "POST", "/groups", { group: guests });
  for (const [scope, groups] of Object.entries(groupsOf)) {
    for (const role of roles) {
      if (role === "user") {
        const claimed = groups?.map((name) => `idp-${name}`);
        if (claimed !== undefined)
          tokens.set(`user ${scope}`, await issuer.token({ sub: scope, groups: claimed }));
        continue;
      }
      const made = await ask<{ token: string }>(server, "POST", "/tokens", {
        role,
        ...(groups && { groups }),
      });
      tokens.set(`${role} ${scope}`, made.json.token);
    }
  }
  for (const each of resources) {
    const token = each.savedBy === "admin" ? server.adminToken : tokens.get(`editor ${each.savedBy}`)!;
    const got = await write(each, { token });
    expect([each.id, got.status, got.text]).toEqual([each.id, 200, got.text]);
  }
});
afterAll(() => scene.stop());

function write({ kind, id, body }: Resource, { token, headers = {} }: { token: string; headers?: object }) {
  const isUpserted = kind === "alert" || kind === "dashboard";
  const [method, path] = isUpserted ? ["POST", `${paths[kind]}/update`] : ["PUT", `${paths[kind]}/${id}`];
  return ask(
    scene.server,
    method,
    path,
    { [kind]: body },
    { token, headers: headers as Record<string, string> },
  );
}

/** The naive model. */
function mayChange(
  role: (typeof roles)[number],
  scope: string,
  { rows, savedBy, isOwned }: Resource,
): boolean {
  if (role === "viewer" || role === "ingest") return false;
  const read = scopes[scope]!;
  if (role === "admin" || read === null) return true;
  const isSavers = savedBy !== "admin" && groupsOf[savedBy]!.every((name) => groupsOf[scope]!.includes(name));
  return isSavers || (!isOwned && rows.every((namespace) => read.includes(namespace)));
}

const uses = ["update", "delete", "create anew", "see its secrets"] as const;

/** Tries a use without doing it: whoever may learns that the resource has another revision. */
async function attempt(
  use: (typeof uses)[number],
  resource: Resource,
  token: string,
): Promise<boolean | null> {
  const { kind, id } = resource;
  const headers = { "If-Match": '"another"' };
  const one = `${paths[kind]}/${id}`;
  if (use === "see its secrets") {
    if (kind !== "webhook") return null;
    const got = await ask(scene.server, "GET", one, undefined, { token });
    return got.status === 200 && !got.text.includes("[hidden]");
  }
  if (use === "create anew") {
    // Under another id, so that nothing depends on what is stored.
    if (kind !== "ingestionRule" && kind !== "silence") return null;
    const body = { ...resource.body, id: `${id} anew` };
    const got = await write(
      { ...resource, id: `${encodeURIComponent(id)}%20anew`, body },
      { token, headers },
    );
    expect([403, 412]).toContain(got.status);
    return got.status === 412;
  }
  const got =
    use === "update"
      ? await write(resource, { token, headers })
      : await ask(scene.server, "DELETE", one, undefined, { token, headers });
  expect([use, id, got.text, [403, 412].includes(got.status)]).toEqual([use, id, got.text, true]);
  return got.status === 412;
}

describe.each(roles)("%s", (role) => {
  test.each(Object.keys(scopes))("of %s", async (scope) => {
    const token = tokens.get(`${role} ${scope}`);
    if (token === undefined) return;
    for (const resource of resources) {
      for (const use of uses) {
        const got = await attempt(use, resource, token);
        // A silence that names no alert may be saved by every editor: it holds for what they read.
        const isNarrowed =
          use === "create anew" && resource.id.startsWith("s-") && !("alertIds" in resource.body);
        const isEditor = role !== "viewer" && role !== "ingest";
        const isOwn = use === "create anew" ? { ...resource, savedBy: "admin" as const } : resource;
        const expected = isNarrowed ? isEditor : mayChange(role, scope, isOwn);
        if (got !== null)
          expect([role, scope, use, resource.id, got]).toEqual([role, scope, use, resource.id, expected]);
      }
    }
  });
});
