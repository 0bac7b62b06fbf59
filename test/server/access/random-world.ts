/** Random worlds: rules, people, and what they configured, for the naive model and for the server. */

import type { Tokens } from "../../../server/access/tokens.ts";
import type { Control } from "../../../server/control/control-plane.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { oneOf, type Random } from "../control/random.ts";
import { alertOf } from "./other-namespaces.ts";
import {
  type Alert,
  domains,
  type Exclusion,
  type Grant,
  type Person,
  type Silence,
  type World,
} from "./row-fate.ts";

const groupNames = ["red", "green", "blue"];
const keys = Object.keys(domains);
const endsAt = 4_102_444_800_000;

const admin: Caller = { tokenId: "admin", name: "admin", role: "admin", groups: null, environment: null };

/** The groups of all worlds. */
export async function addGroups({ collections }: Control): Promise<void> {
  for (const name of groupNames) {
    const group = { name, role: "editor" as const, oidcMappings: [`idp-${name}`] };
    await collections.groups.put(name, () => group, { by: admin, ifMatch: null });
  }
}

/** A person as the model has them, and as the server finds them with what they saved. */
export interface Known {
  person: Person;
  caller: Caller;
}

export interface RandomWorld extends World {
  alerts: (Alert & { known: Known })[];
  silences: (Silence & { id: string })[];
  exclusions: (Exclusion & { id: string })[];
  people: Known[];
  /** One of the people. */
  actor: Known;
}

const some = <T>(of: readonly T[], random: Random, share = 0.5) => of.filter(() => random() < share);
const upTo = (count: number, random: Random) => Array.from({ length: Math.floor(random() * (count + 1)) });
const textOf = (key: string, random: Random) => oneOf(domains[key]!.slice(1), random);

/** A bearer of a token, whose groups may have changed since they saved something, or a user. */
async function randomPerson(id: string, random: Random, tokens: Tokens): Promise<Known> {
  const kind = oneOf(["token", "token", "token", "user", "free", "admin", "viewer"] as const, random);
  const groups = some(groupNames, random);
  const base = { tokenId: id, name: id, environment: null };
  if (kind === "user") {
    const own = groups.length === 0 ? ["red"] : groups;
    const user = { subject: id, claimed: own.map((name) => `idp-${name}`) };
    const stale = some(groupNames, random);
    return {
      person: { id, role: "editor", groups: own },
      caller: { ...base, tokenId: null, user, role: "viewer", groups: stale },
    };
  }
  const role = kind === "admin" ? "admin" : kind === "viewer" ? "viewer" : "editor";
  const bound = kind === "free" ? {} : { groups };
  await tokens.add({ id, name: id, role, secretHash: "", createdAtMs: 0, expiresAtMs: null, ...bound });
  const stale = random() < 0.3 ? some(groupNames, random) : (bound.groups ?? null);
  return { person: { id, role, groups: bound.groups ?? null }, caller: { ...base, role, groups: stale } };
}

function randomGrant(random: Random): Grant {
  const signals = some(["logs", "metrics"], random, 0.8);
  const match = random() < 0.6 ? [] : [{ key: oneOf(["team", "log_level", "environment"], random) }];
  return {
    groups: some(groupNames, random, 0.6),
    ...(random() < 0.6 ? {} : { cluster: "prod" }),
    ...(random() < 0.3 ? {} : { namespace: oneOf(["shop", "pay"], random) }),
    signals: signals.length === 0 ? ["logs"] : signals,
    match: match.map(({ key }) => ({
      key,
      values: key === "log_level" ? ["error"] : [oneOf(domains[key]!.slice(0, 2), random)],
    })),
  };
}

/** The cluster that saves what Kubernetes manages. */
const cluster: Known = {
  person: { id: "prod", role: "cluster", groups: [], cluster: "prod" },
  caller: { tokenId: null, name: "prod", role: "cluster", groups: [], environment: "prod" },
};

function randomWhere(random: Random, signal: string): Record<string, string> {
  const chosen = some(keys, random, 0.35).map((key) => [key, oneOf(domains[key]!, random)] as const);
  const level = signal === "logs" && random() < 0.3 ? [["log_level", "error"] as const] : [];
  return Object.fromEntries([...chosen, ...level]);
}

function randomAlert(i: number, known: Known, random: Random): RandomWorld["alerts"][number] {
  const signal = oneOf(["logs", "logs", "metrics"] as const, random);
  const isManaged = random() < 0.2;
  const saver = isManaged ? cluster : known;
  return {
    id: isManaged ? `kubernetes-managed.prod.shop.a${i}` : `a${i}`,
    ...{ saver: saver.person, known: saver, isManaged, signal },
    where: randomWhere(random, signal),
    ...(random() < 0.15 ? { other: randomWhere(random, signal) } : {}),
    by: some(["k8s.namespace.name", "team", "environment"], random, 0.4),
    isExtracting: signal === "logs" && random() < 0.15,
    webhooks: some(["w0", "w1"], random, 0.4),
  };
}

function queryOf({ signal, where, other, by, isExtracting }: Alert): string {
  const labels = by.length === 0 ? "" : ` by (${by.join(", ")})`;
  const read = (values: Readonly<Record<string, string>>) => {
    const selector = Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    const rows = `${signal === "logs" ? "logs" : "requests"}{${selector.join(", ")}}`;
    return `${signal === "logs" ? "count" : "sum"}(${rows}${isExtracting ? " | json" : ""})${labels}`;
  };
  return other === undefined ? read(where) : `${read(where)} / ${read(other)}`;
}

export function randomSilence(saver: Person, random: Random, ids: readonly string[]): Silence {
  const alertIds = random() < 0.7 ? some([...ids, "nowhere"], random, 0.4) : [];
  const match = some(["k8s.namespace.name", "team"], random, 0.5).map((key) => ({
    key,
    operator: oneOf(["In", "In", "In", "NotIn"] as const, random),
    values: random() < 0.7 ? [oneOf(domains[key]!, random)] : domains[key]!.slice(0, 2),
  }));
  const bound = alertIds.length > 0 ? { alertIds } : {};
  const general = { key: "team", operator: "In" as const, values: ["one"] };
  return { saver, ...bound, match: alertIds.length === 0 && match.length === 0 ? [general] : match };
}

export function randomExclusion(random: Random): Exclusion {
  const rules = [1, ...upTo(1, random)].map(() => {
    const signals = oneOf([["logs"], ["metrics"], ["logs", "metrics"]], random);
    const tested = some(signals.includes("metrics") ? keys : [...keys, "log_level"], random, 0.45);
    const match = tested.map((key) => {
      const values = key === "log_level" ? ["error"] : [textOf(key, random)];
      if (key !== "log_level" && random() < 0.3) values.push(textOf(key, random));
      return { key, operator: random() < 0.08 ? ("RegexIn" as const) : ("In" as const), values };
    });
    return { signals, match };
  });
  return { ...(random() < 0.3 ? { cluster: "prod" } : {}), rules };
}

export const webhookIds = ["w0", "w1"];

/** Nobody lives in two worlds: the rate of changes is bounded for each person. */
export async function randomWorld(world: number, random: Random, tokens: Tokens): Promise<RandomWorld> {
  const people: Known[] = [];
  for (let i = 0; i < 4; i++) people.push(await randomPerson(`t${i} of ${world}`, random, tokens));
  const alerts = Array.from({ length: 3 }, (_, i) => randomAlert(i, oneOf(people, random), random));
  const ids = alerts.map(({ id }) => id);
  return {
    grants: [1, ...upTo(3, random)].map(() => randomGrant(random)),
    updaters: some(groupNames, random),
    alerts,
    silences: [0, 1].map((i) => ({
      id: `s${i}`,
      ...randomSilence(oneOf(people, random).person, random, ids),
    })),
    exclusions: [0, 1].map((i) => ({ id: `e${i}`, ...randomExclusion(random) })),
    people,
    actor: people[0]!,
  };
}

export const silenceBody = ({ alertIds, match }: Silence) => ({
  endsAt,
  ...(alertIds === undefined ? {} : { alertIds: [...alertIds] }),
  ...(match.length === 0 ? {} : { match: { matchExpressions: match.map(copy) } }),
});
const copy = <T extends { values: readonly string[] }>(each: T) => ({ ...each, values: [...each.values] });
export const exclusionBody = ({ cluster: name, rules }: Exclusion) => ({
  ...(name === undefined ? {} : { cluster: name }),
  rules: rules.map(({ signals, match }) => ({
    ...{ signals: [...signals], action: "Exclude" as const },
    ...(match.length === 0 ? {} : { match: { matchExpressions: match.map(copy) } }),
  })),
});
const telemetryRule = ({ groups, cluster: name, namespace, signals, match }: Grant) => ({
  groups: [...groups],
  ...(name === undefined ? {} : { cluster: name }),
  ...(namespace === undefined ? { type: "cluster" as const } : { type: "namespace" as const, namespace }),
  rules: [
    {
      signals: [...signals],
      match: { matchExpressions: match.map((each) => ({ ...copy(each), operator: "In" as const })) },
    },
  ],
});

export const alertBody = (alert: Alert) => alertOf(alert.id, queryOf(alert), ...alert.webhooks.slice(0, 2));

/** Stores a world as those who saved it would have. */
export async function install(world: RandomWorld, { collections }: Control): Promise<void> {
  const put = (kind: keyof typeof collections, id: string, value: unknown, by: Caller, managed = false) =>
    collections[kind].put(id, () => value as never, {
      ...{ by, ifMatch: null },
      ...(managed ? { managed: { cluster: "prod", namespace: "shop" } } : {}),
    });
  for (const [i, grant] of world.grants.entries())
    await put("telemetryRules", `r${i}`, telemetryRule(grant), admin);
  const rules = [{ resources: ["alerts"], verbs: ["read", "update"] }];
  await put("resourceRules", "r", { type: "cluster", groups: world.updaters, rules }, admin);
  for (const id of webhookIds) await put("webhooks", id, { id, url: "https://x.example/" }, admin);
  const callerOf = new Map(world.people.map(({ person, caller }) => [person.id, caller]));
  for (const alert of world.alerts)
    await put("alerts", alert.id, alertBody(alert), alert.known.caller, alert.isManaged);
  for (const silence of world.silences) {
    const value = { ...silenceBody(silence), id: silence.id };
    await put("silences", silence.id, value, callerOf.get(silence.saver.id)!);
  }
  for (const exclusion of world.exclusions)
    await put("ingestionRules", exclusion.id, { ...exclusionBody(exclusion), id: exclusion.id }, admin);
}
