/**
 * The four kinds of rules as objects of two clusters, against a naive model: what members of groups read, change and
 * delete, of every signal and kind, in every place.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../../server/control/asking.ts";
import { oneOf, type Random, randomOf } from "../../server/control/random.ts";
import { alert } from "../../server/control/samples.ts";
import { groupNames, signals } from "../../server/control/visible.ts";
import { call, lines, type Running, startServer } from "../../server/running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const rounds = process.env.SVC_SOAK === "1" ? 1_000 : 20;
const callersARound = 3;
const clusters = ["prod", "test"] as const;
const namespaces = ["shop", "shopping"] as const;
const kinds = ["alerts", "dashboards", "webhooks"] as const;
const verbs = ["create", "read", "update", "delete"] as const;
type Kind = (typeof kinds)[number];
type Verb = (typeof verbs)[number];

interface Place {
  cluster: string;
  namespace: string;
}
const places: readonly Place[] = clusters.flatMap((cluster) =>
  namespaces.map((namespace) => ({ cluster, namespace })),
);

/** A rule as an object of a cluster. */
interface RuleObject {
  kind: string;
  cluster: string;
  /** Absent for kinds of the whole cluster. */
  namespace?: string;
  name: string;
  spec: {
    groups: string[];
    rules: {
      signals?: string[];
      match?: { matchExpressions: { key: string; operator: "In"; values: string[] }[] };
      resources?: Kind[];
      verbs?: Verb[];
      path?: string;
    }[];
  };
}

interface Row {
  signal: string;
  mark: string;
  place: Place | null;
  team: string | undefined;
}

let server: Running;
/** Cases in which the model allows what is asked. */
let allowed = 0;
const tokens: Record<string, string> = {};
const random = randomOf(seed);
const rows: Row[] = signals.flatMap((signal) =>
  [...places, null].flatMap((place) =>
    ["one", "two", undefined].map((team) => ({
      ...{ signal, place, team },
      mark: `mark_${signal}_${place?.cluster}_${place?.namespace}_${team}_`,
    })),
  ),
);

beforeAll(async () => {
  server = await startServer();
  for (const name of clusters) {
    const made = await ask<{ token: string }>(server, "POST", "/environments/create", {
      environment: { name },
    });
    tokens[name] = made.json.token;
  }
  for (const row of rows) await send(row);
  for (const { cluster, namespace } of places) {
    const spec = { timeseries: alert.timeseries };
    const results = await apply(cluster, [
      { kind: "SvcAlert", cluster, namespace, name: "x", spec },
      { kind: "SvcDashboard", cluster, namespace, name: "x", spec: {} },
      { kind: "SvcWebhook", cluster, namespace, name: "x", spec: { url: "https://example.com/" } },
    ]);
    expect(results).toEqual(["Synced", "Synced", "Synced"]);
  }
  for (const [kind, body] of Object.entries(own)) await ask(server, "POST", paths[kind as Kind], body("own"));
}, 60_000);
afterAll(() => server.stop());

/** Bodies of resources that the API made. */
const own: Record<Kind, (id: string) => object> = {
  alerts: (id) => ({ alert: { ...alert, metadata: { name: "own", id } } }),
  dashboards: (id) => ({ dashboard: { metadata: { title: "own", id } } }),
  webhooks: (id) => ({ webhook: { id, url: "https://example.com/" } }),
};
const paths: Record<Kind, string> = {
  alerts: "/alerts/update",
  dashboards: "/dashboards/update",
  webhooks: "/webhooks",
};

async function send({ signal, mark, place, team }: Row): Promise<void> {
  const attributes = {
    ...(place === null ? {} : { "k8s.namespace.name": place.namespace }),
    ...(team === undefined ? {} : { team }),
  };
  const timestamp = 1_750_000_000_000;
  const hex = Buffer.from(mark).toString("hex");
  const nanos = `${timestamp}000000`;
  const ids = { traceId: hex.slice(0, 32).padEnd(32, "1"), spanId: hex.slice(-16).padStart(16, "1") };
  const forms: Record<string, object> = {
    logs: { timestamp, message: mark, attributes },
    traces: { ...ids, name: mark, startTimeUnixNano: nanos, endTimeUnixNano: nanos, attributes },
    metrics: { timestamp, name: mark, type: "gauge", value: 1, labels: attributes },
    profiles: { timestamp, body: mark, attributes },
    kubernetes_resources: { timestamp, body: mark, attributes },
  };
  const got = await call(server, `/api/v1/ingest/${signal === "traces" ? "spans" : signal}`, {
    token: place === null ? server.adminToken : tokens[place.cluster]!,
    headers: { "Content-Type": "application/x-ndjson" },
    body: lines([forms[signal]!]),
  });
  expect(got.json).toMatchObject({ accepted: 1, refused: 0 });
}

async function apply(cluster: string, objects: readonly RuleObject[] | readonly object[]): Promise<string[]> {
  const sent = (objects as RuleObject[]).map(({ kind, namespace, name, spec }) => ({
    ...{ kind, spec },
    metadata: { name, uid: `${kind} ${cluster} ${namespace} ${name}`, ...(namespace && { namespace }) },
  }));
  const got = await ask<{ results: { reason: string }[] }>(
    ...([server, "POST", "/kubernetes/objects", { objects: sent }, { token: tokens[cluster]! }] as const),
  );
  expect([got.status, got.text]).toEqual([200, got.text]);
  return got.json.results.map(({ reason }) => reason);
}

const some = <T>(of: readonly T[]): T[] => of.filter(() => random() < 0.5);
const atLeastOne = <T>(of: readonly T[]): T[] => {
  const chosen = some(of);
  return chosen.length > 0 ? chosen : [oneOf(of, random)];
};

function randomRule(at: number, pick: Random): RuleObject {
  const isOfNamespace = pick() < 0.5;
  const isOfTelemetry = pick() < 0.5;
  const scope = isOfNamespace ? "Namespace" : "Cluster";
  const grants = Array.from({ length: 1 + Math.floor(pick() * 2) }, () => {
    if (isOfTelemetry) {
      const named = atLeastOne(signals).map((signal) =>
        signal === "kubernetes_resources" ? "kubernetesResources" : signal,
      );
      const match = {
        matchExpressions: [{ key: "team", operator: "In" as const, values: atLeastOne(["one", "two"]) }],
      };
      return { signals: named, ...(pick() < 0.5 ? {} : { match }) };
    }
    const grant = { resources: atLeastOne(kinds), verbs: atLeastOne(verbs) };
    const path = oneOf(["/shop/", "/shopping", "/", "/other/", "/shop/deeper/"], pick);
    return { ...grant, ...(isOfNamespace || pick() < 0.5 ? {} : { path }) };
  });
  return {
    kind: `Svc${scope}${isOfTelemetry ? "Telemetry" : "Resource"}Rule`,
    cluster: oneOf(clusters, pick),
    ...(isOfNamespace ? { namespace: oneOf(namespaces, pick) } : {}),
    name: `rule-${at}`,
    spec: { groups: some(groupNames), rules: grants },
  };
}

/** The naive model: rules only allow, and add up; each for its own cluster, or its own namespace there. */
function grantsFor(rules: readonly RuleObject[], groups: readonly string[], place: Place) {
  return rules
    .filter(({ spec }) => spec.groups.some((group) => groups.includes(group)))
    .filter(
      ({ cluster, namespace }) =>
        cluster === place.cluster && (namespace ?? place.namespace) === place.namespace,
    )
    .flatMap(({ spec }) => spec.rules);
}

function mayReadRow(rules: readonly RuleObject[], groups: readonly string[], row: Row): boolean {
  if (row.place === null) return false;
  const signal = row.signal === "kubernetes_resources" ? "kubernetesResources" : row.signal;
  return grantsFor(rules, groups, row.place).some(
    ({ signals: granted, match }) =>
      granted?.includes(signal) === true &&
      (match === undefined || match.matchExpressions.every(({ values }) => values.includes(row.team ?? ""))),
  );
}

function mayUse(
  rules: readonly RuleObject[],
  groups: readonly string[],
  kind: Kind,
  verb: Verb,
  place: Place,
): boolean {
  return grantsFor(rules, groups, place).some(({ resources, verbs: granted, path }) => {
    if (resources?.includes(kind) !== true || granted?.includes(verb) !== true) return false;
    const folder = `/${place.namespace}/`;
    return path === undefined || folder.startsWith(path.endsWith("/") ? path : `${path}/`);
  });
}

async function checkRows(
  rules: readonly RuleObject[],
  groups: readonly string[],
  token: string,
): Promise<number> {
  for (const signal of signals) {
    const range = { startTime: 0, endTime: 2_000_000_000_000 };
    const [path, body] =
      signal === "metrics"
        ? ["/query/values", { signal, field: "__name__", limit: 1_000, ...range }]
        : [`/query/${signal}`, { query: "", limit: 1_000, ...range }];
    const got = await ask(server, "POST", path as string, body, { token });
    for (const row of rows.filter((each) => each.signal === signal)) {
      const what = JSON.stringify([row.mark, groups, rules]);
      allowed += Number(mayReadRow(rules, groups, row));
      expect([what, got.text.includes(row.mark)]).toEqual([what, mayReadRow(rules, groups, row)]);
    }
  }
  return rows.length;
}

async function checkResources(
  rules: readonly RuleObject[],
  { groups, role, token }: { groups: readonly string[]; role: string; token: string },
): Promise<number> {
  let cases = 0;
  for (const kind of kinds) {
    const list = await ask(server, "GET", `/${kind}`, undefined, { token });
    const isOwnSeen = list.text.includes('"own"');
    expect([kind, isOwnSeen]).toEqual([kind, true]);
    for (const place of places) {
      const id = `kubernetes-managed.${place.cluster}.${place.namespace}.x`;
      const what = JSON.stringify([kind, id, role, groups, rules]);
      const may = (verb: Verb) => mayUse(rules, groups, kind, verb, place);
      const isSeen = may("read");
      allowed += Number(isSeen);
      expect([what, list.text.includes(`${id}"`)]).toEqual([what, isSeen]);
      const read = await ask(server, "GET", `/${kind}/${id}`, undefined, { token });
      expect([what, read.status]).toEqual([what, isSeen ? 200 : 404]);
      // Nobody changes what Kubernetes manages: who may is told so, who may not is told that.
      const refusal = (verb: Verb) => (role !== "editor" || (isSeen && !may(verb)) ? 403 : 409);
      const path = kind === "webhooks" ? `/webhooks/${id}` : paths[kind];
      const changed = await ask(server, kind === "webhooks" ? "PUT" : "POST", path, own[kind](id), { token });
      expect([what, "update", changed.status]).toEqual([what, "update", refusal("update")]);
      const removed = await ask(server, "DELETE", `/${kind}/${id}`, undefined, { token });
      expect([what, "delete", removed.status]).toEqual([what, "delete", refusal("delete")]);
      cases += 4;
    }
    // Rules never give or take what the API made.
    const changed = await ask(
      server,
      kind === "webhooks" ? "PUT" : "POST",
      kind === "webhooks" ? "/webhooks/own" : paths[kind],
      own[kind]("own"),
      { token },
    );
    // An admin saved the alert: it reads rows that members may not.
    const isChanged = role === "editor" && kind !== "alerts";
    expect([kind, role, changed.status]).toEqual([kind, role, isChanged ? 200 : 403]);
    cases += 2;
  }
  return cases;
}

test(`rules as objects allow exactly what the naive model says (SVC_SEED=${seed})`, async () => {
  let cases = 0;
  for (let round = 0; round < rounds; round++) {
    const rules = Array.from({ length: Math.floor(random() * 6) }, (_, i) => randomRule(i, random));
    for (const cluster of clusters) {
      const sent = rules.filter((rule) => rule.cluster === cluster);
      expect(await apply(cluster, sent)).toEqual(sent.map(() => "Synced"));
    }
    for (let i = 0; i < callersARound; i++) {
      const role = oneOf(["viewer", "editor"], random);
      const groups = some(groupNames);
      const made = await ask<{ token: string; id: string }>(server, "POST", "/tokens", { role, groups });
      expect([made.status, made.text]).toEqual([200, made.text]);
      const { token, id } = made.json;
      cases += await checkRows(rules, groups, token);
      cases += await checkResources(rules, { groups, role, token });
      await ask(server, "DELETE", `/tokens/${id}`);
    }
    for (const cluster of clusters) {
      const objects = rules
        .filter((rule) => rule.cluster === cluster)
        .map(({ kind, namespace, name }) => ({ kind, name, ...(namespace && { namespace }) }));
      await ask(server, "POST", "/kubernetes/objects/delete", { objects }, { token: tokens[cluster]! });
    }
  }
  console.log(`${cases} cases, ${allowed} of them allowed by a rule`);
  expect(allowed).toBeGreaterThan(cases / 50);
  expect(cases).toBeGreaterThanOrEqual(rounds * callersARound * 100);
}, 600_000);
