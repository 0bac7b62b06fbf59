/** Resource rules against a naive model, over roles, groups, rules, kinds, places and endpoints. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openState, type State } from "../../../engine/index.ts";
import { checkPermission } from "../../../server/access/authentication.ts";
import { Tokens } from "../../../server/access/tokens.ts";
import type { Reply, ServerRequest } from "../../../server/api/route.ts";
import type { Collection } from "../../../server/control/collection.ts";
import { type Control, openControl } from "../../../server/control/control-plane.ts";
import { secretPlaceholder } from "../../../server/control/hidden-secrets.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { oneOf, type Random, randomOf } from "./random.ts";
import { alert, dashboard, webhook } from "./samples.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const rounds = process.env.SVC_SOAK === "1" ? 2_000 : 30;

const kinds = ["alerts", "dashboards", "webhooks"] as const;
type Kind = (typeof kinds)[number];
const verbs = ["create", "read", "update", "delete"] as const;
type Verb = (typeof verbs)[number];

interface Place {
  cluster: string;
  namespace: string;
}

/** One of each kind in each place, and one of each kind that Kubernetes does not manage. */
const places: (Place | null)[] = [
  null,
  ...["prod", "test"].flatMap((cluster) => ["shop", "shopping"].map((namespace) => ({ cluster, namespace }))),
];

interface Rule {
  type: "cluster" | "namespace";
  groups: string[];
  cluster?: string;
  namespace?: string;
  rules: { resources: Kind[]; verbs: Verb[]; path?: string }[];
}

function idOf(place: Place | null): string {
  return place === null ? "own" : `kubernetes-managed.${place.cluster}.${place.namespace}.x`;
}

const names = { alerts: "alert", dashboards: "dashboard", webhooks: "webhook" } as const;
const samples = { alerts: alert, dashboards: dashboard, webhooks: webhook } as const;

function resource(kind: Kind, id: string): object {
  const { secret: _, ...hook } = webhook;
  if (kind === "webhooks") return { ...hook, id };
  const sample = samples[kind] as { metadata: object };
  return {
    ...sample,
    metadata: { ...sample.metadata, id, ...(kind === "dashboards" ? { folderPath: "/dashboards/x/" } : {}) },
  };
}

const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
let state: State;
let control: Control;
const admin: Caller = { tokenId: "a", name: "admin", role: "admin", groups: null, environment: null };

beforeAll(async () => {
  state = await openState(dir);
  control = openControl({
    delivery: { undeliverable: () => [], isWebhookOff: () => false },
    state,
    tokens: new Tokens(state, Date.now),
    append: async () => undefined,
    now: Date.now,
    log: () => undefined,
  });
  for (const kind of kinds) {
    for (const place of places) {
      const collection = control.collections[kind] as unknown as Collection<object>;
      const write = { by: admin, ifMatch: null, ...(place === null ? {} : { managed: place }) };
      await collection.put(idOf(place), () => resource(kind, idOf(place)), write);
    }
  }
});
afterAll(async () => {
  await control.close();
  await state.close();
  rmSync(dir, { recursive: true });
});

async function request(
  caller: Caller,
  method: string,
  path: string,
  id?: string,
  body?: object,
): Promise<Reply> {
  const route = control.routes.find((each) => each.method === method && each.path === path)!;
  const sent = {
    method,
    path,
    params: id === undefined ? {} : { id },
    query: new URLSearchParams(),
    headers: new Map(),
    body: new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)),
    caller,
    readmit: () => caller,
    signal: new AbortController().signal,
  } as ServerRequest;
  try {
    checkPermission(caller, route.permission);
    return await route.answer(sent);
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.message };
    throw error;
  }
}

/** The naive model: whether a rule of one of the groups grants the verb. */
function isGranted(rules: Rule[], groups: readonly string[], kind: Kind, verb: Verb, place: Place): boolean {
  for (const rule of rules) {
    if (!rule.groups.some((group) => groups.includes(group))) continue;
    if (rule.cluster !== undefined && rule.cluster !== place.cluster) continue;
    if (rule.type === "namespace" && rule.namespace !== place.namespace) continue;
    for (const { resources, verbs: granted, path } of rule.rules) {
      if (!resources.includes(kind) || !granted.includes(verb)) continue;
      const folders = [
        `/${place.namespace}/`,
        `/${kind}/kubernetes-managed/${place.cluster}/${place.namespace}/`,
      ];
      // A path that does not begin at the root begins in the cluster's folder.
      const required = `/${path ?? ""}/`.replace(/\/+/g, "/");
      const isBelow = folders.some((folder) => folder.startsWith(required));
      if (isBelow) return true;
    }
  }
  return false;
}

function randomRule(random: Random): Rule {
  const some = <T>(of: readonly T[]) => of.filter(() => random() < 0.6);
  const type = oneOf(["cluster", "namespace"] as const, random);
  const paths = [
    "/",
    "/shop/",
    "shop",
    "/shop",
    "/shopping/",
    "/sho",
    "/alerts/kubernetes-managed/prod/",
    "/webhooks/kubernetes-managed/test/shop/",
    "alerts/kubernetes-managed/prod/",
    "/alerts/kubernetes-managed",
    "dashboards/kubernetes-managed/test/shop",
    "/shop/deeper/",
    "/..",
  ];
  const rules = Array.from({ length: 1 + Math.floor(random() * 2) }, () => ({
    resources: some(kinds).concat(oneOf(kinds, random)),
    verbs: some(verbs).concat(oneOf(verbs, random)),
    ...(type === "cluster" && random() < 0.5 ? { path: oneOf(paths, random) } : {}),
  }));
  return {
    type,
    groups: some(["red", "green", "blue"]),
    ...(random() < 0.5 ? {} : { cluster: oneOf(["prod", "test"], random) }),
    ...(type === "cluster" ? {} : { namespace: oneOf(["shop", "shopping", "sho"], random) }),
    rules,
  };
}

function randomCaller(random: Random): Caller {
  const role = oneOf(["viewer", "editor", "admin", "ingest", "anonymous"] as const, random);
  const groups =
    role === "anonymous" || random() < 0.2 ? null : ["red", "green", "blue"].filter(() => random() < 0.4);
  return { ...admin, tokenId: "m", role, groups };
}

/** What the naive model expects for one resource: the status of each request, and whether secrets are shown. */
function expected(caller: Caller, rules: Rule[], kind: Kind, place: Place | null) {
  const { role, groups } = caller;
  const isBound = groups !== null && role !== "admin";
  const may = (verb: Verb) => place === null || !isBound || isGranted(rules, groups, kind, verb, place);
  const isWriter = role === "admin" || role === "editor";
  // An admin saved the alert that is not managed: it reads rows that no member may read here.
  const isBarred = place === null && isBound && kind === "alerts";
  const isWhole = place !== null && isBound ? may("update") : isWriter && !isBarred;
  const isSeen = may("read");
  const written = (verb: Verb) => {
    if (!isWriter || isBarred) return 403;
    if (place === null) return 200;
    return isSeen && !may(verb) ? 403 : 409;
  };
  return {
    read: role === "ingest" ? 403 : isSeen ? 200 : 404,
    isWhole,
    update: written("update"),
    delete: written("delete"),
  };
}

async function checkKind(caller: Caller, rules: Rule[], kind: Kind): Promise<number> {
  const path = `/api/v1/${kind}`;
  const what = JSON.stringify([caller.role, caller.groups, kind, rules]);
  const list = await request(caller, "GET", path);
  const listed =
    list.status === 200
      ? (JSON.parse(String(list.body)) as Record<Kind, { id?: string; metadata?: { id: string } }[]>)[kind]
      : [];
  const ids = listed.map(({ id, metadata }) => id ?? metadata?.id);
  for (const place of places) {
    const id = idOf(place);
    const truth = expected(caller, rules, kind, place);
    expect([what, id, ids.includes(id)]).toEqual([what, id, truth.read === 200]);
    const read = await request(caller, "GET", `${path}/{id}`, id);
    expect([what, id, read.status]).toEqual([what, id, truth.read]);
    if (read.status === 200 && kind !== "dashboards") {
      expect([what, id, String(read.body).includes(secretPlaceholder)]).toEqual([what, id, !truth.isWhole]);
    }
    const body = { [names[kind]]: resource(kind, id) };
    const written =
      kind === "webhooks"
        ? await request(caller, "PUT", `${path}/{id}`, id, body)
        : await request(caller, "POST", `${path}/update`, undefined, body);
    expect([what, id, written.status]).toEqual([what, id, truth.update]);
    if (place === null) continue;
    expect([what, id, (await request(caller, "DELETE", `${path}/{id}`, id)).status]).toEqual([
      what,
      id,
      truth.delete,
    ]);
    const canNotify = control.scope.canUse(caller, kind, "update", "configure", { managed: place });
    expect([what, id, canNotify]).toEqual([what, id, truth.isWhole]);
  }
  return places.length * 5;
}

test(`no rule, role or group allows more than the naive model of the rules (SVC_SEED=${seed})`, async () => {
  const random = randomOf(seed);
  const { resourceRules } = control.collections;
  let checks = 0;
  for (let round = 0; round < rounds; round++) {
    const rules = Array.from({ length: Math.floor(random() * 4) }, () => randomRule(random));
    for (const [i, rule] of rules.entries())
      await resourceRules.put(`r${i}`, () => rule as never, { by: admin, ifMatch: null });
    const caller = randomCaller(random);
    for (const kind of kinds) checks += await checkKind(caller, rules, kind);
    for (const i of rules.keys()) await resourceRules.remove(`r${i}`, { by: admin, ifMatch: null });
  }
  expect(checks).toBeGreaterThan(rounds * 50);
});

test("members silence managed alerts that they may update and read, and learn nothing of the existence of others", async () => {
  const rule: Rule = {
    type: "namespace",
    groups: ["red"],
    namespace: "shop",
    rules: [{ resources: ["alerts"], verbs: ["read", "update"] }],
  };
  await control.collections.resourceRules.put("s", () => rule as never, { by: admin, ifMatch: null });
  const reading = { type: "cluster" as const, groups: ["red"], rules: [{ signals: ["logs" as const] }] };
  await control.collections.telemetryRules.put("s", () => reading, { by: admin, ifMatch: null });
  const member: Caller = { ...admin, tokenId: "m", role: "editor", groups: ["red"] };
  const silence = (...alertIds: string[]) =>
    request(member, "POST", "/api/v1/silences", undefined, { silence: { endsAt: 1, alertIds } });
  const [, mine, theirs] = places.map(idOf) as [string, string, string];
  expect((await silence(mine, "own")).status).toBe(200);
  const refused = await silence(theirs);
  expect(refused).toMatchObject({ status: 403 });
  const missing = await silence("kubernetes-managed.prod.shopping.none");
  expect(String(missing.body).replace("none", "x")).toBe(String(refused.body));
  expect(["own", mine, theirs].map((id) => control.scope.canSilence(member, id))).toEqual([
    true,
    true,
    false,
  ]);
  expect(control.scope.canSilence({ ...member, groups: null }, theirs)).toBe(true);
  await control.collections.telemetryRules.remove("s", { by: admin, ifMatch: null });
  expect((await silence(mine)).body).toContain("the alert reads rows that you may not");
  expect(control.scope.canSilence(member, mine)).toBe(false);
  await control.collections.resourceRules.remove("s", { by: admin, ifMatch: null });
});

test("an alert that names a managed webhook does not reveal to a member whether the webhook exists", async () => {
  const member: Caller = { ...admin, tokenId: "m", role: "editor", groups: [] };
  const warned = async (uuid: string) => {
    const [first] = alert.timeseries.evaluationRules;
    const rule = { ...first, actions: [{ type: "webhook", webhookDestination: { uuid } }] };
    const sent = {
      ...alert,
      metadata: { name: "n", id: "naming" },
      timeseries: { ...alert.timeseries, evaluationRules: [rule] },
    };
    const { body } = await request(member, "POST", "/api/v1/alerts/update", undefined, { alert: sent });
    return String(body).replaceAll(uuid, "ID");
  };
  expect(await warned(idOf({ cluster: "prod", namespace: "shop" }))).toBe(
    await warned("kubernetes-managed.prod.shop.none"),
  );
});
