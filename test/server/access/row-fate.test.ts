/** Random worlds of rules, people and resources: every change that is allowed or refused, against a naive model. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { checkPermission } from "../../../server/access/authentication.ts";
import { labelValues } from "../../../server/access/row-selection.ts";
import { Tokens } from "../../../server/access/tokens.ts";
import type { Reply, ServerRequest } from "../../../server/api/route.ts";
import { type Control, openControl } from "../../../server/control/control-plane.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { oneOf, type Random, randomOf } from "../control/random.ts";
import { MemoryState } from "./memory-state.ts";
import { alertOf } from "./other-namespaces.ts";
import {
  type Alert,
  canReadAll,
  canSilence,
  covers,
  domains,
  type Exclusion,
  type Grant,
  instancesOf,
  isContained,
  isFree,
  mayChange,
  type Person,
  readRows,
  type Silence,
  silencedRows,
  type World,
} from "./row-fate.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const worlds = process.env.SVC_SOAK === "1" ? 20_000 : 500;

const groupNames = ["red", "green", "blue"];
const keys = Object.keys(domains);
const endsAt = 4_102_444_800_000;

const state = new MemoryState();
const tokens = new Tokens(state, Date.now);
let control: Control;
let setBack: () => void;
beforeAll(async () => {
  control = openControl({
    state,
    tokens,
    append: async () => undefined,
    now: Date.now,
    log: () => undefined,
  });
  for (const name of groupNames) {
    const group = { name, role: "editor" as const, oidcMappings: [`idp-${name}`] };
    await control.collections.groups.put(name, () => group, { by: callers.admin, ifMatch: null });
  }
  setBack = state.mark();
});
afterAll(() => control.close());

const callers = {
  admin: { tokenId: "admin", name: "admin", role: "admin", groups: null, environment: null },
} satisfies Record<string, Caller>;

/** A person as the model has them, and as the server finds them with what they saved. */
interface Known {
  person: Person;
  caller: Caller;
}

interface RandomWorld extends World {
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
async function randomPerson(id: string, random: Random): Promise<Known> {
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

function randomSilence(saver: Person, random: Random, ids: readonly string[]): Silence {
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

function randomExclusion(random: Random): Exclusion {
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

const webhookIds = ["w0", "w1"];

/** Nobody lives in two worlds: the rate of changes is bounded for each person. */
async function randomWorld(world: number, random: Random): Promise<RandomWorld> {
  const people: Known[] = [];
  for (let i = 0; i < 4; i++) people.push(await randomPerson(`t${i} of ${world}`, random));
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

const silenceBody = ({ alertIds, match }: Silence) => ({
  endsAt,
  ...(alertIds === undefined ? {} : { alertIds: [...alertIds] }),
  ...(match.length === 0 ? {} : { match: { matchExpressions: match.map(copy) } }),
});
const copy = <T extends { values: readonly string[] }>(each: T) => ({ ...each, values: [...each.values] });
const exclusionBody = ({ cluster: name, rules }: Exclusion) => ({
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

const alertBody = (alert: Alert) => alertOf(alert.id, queryOf(alert), ...alert.webhooks.slice(0, 2));

/** Stores a world as those who saved it would have. */
async function install(world: RandomWorld): Promise<void> {
  const { collections } = control;
  const put = (kind: keyof typeof collections, id: string, value: unknown, by: Caller, managed = false) =>
    collections[kind].put(id, () => value as never, {
      ...{ by, ifMatch: null },
      ...(managed ? { managed: { cluster: "prod", namespace: "shop" } } : {}),
    });
  for (const [i, grant] of world.grants.entries())
    await put("telemetryRules", `r${i}`, telemetryRule(grant), callers.admin);
  const rules = [{ resources: ["alerts"], verbs: ["read", "update"] }];
  await put("resourceRules", "r", { type: "cluster", groups: world.updaters, rules }, callers.admin);
  for (const id of webhookIds) await put("webhooks", id, { id, url: "https://x.example/" }, callers.admin);
  const callerOf = new Map(world.people.map(({ person, caller }) => [person.id, caller]));
  for (const alert of world.alerts)
    await put("alerts", alert.id, alertBody(alert), alert.known.caller, alert.isManaged);
  for (const silence of world.silences) {
    const value = { ...silenceBody(silence), id: silence.id };
    await put("silences", silence.id, value, callerOf.get(silence.saver.id)!);
  }
  for (const exclusion of world.exclusions)
    await put(
      "ingestionRules",
      exclusion.id,
      { ...exclusionBody(exclusion), id: exclusion.id },
      callers.admin,
    );
}

async function request(caller: Caller, method: string, path: string, id?: string, body?: object) {
  const route = control.routes.find((each) => each.method === method && each.path === `/api/v1${path}`)!;
  const sent = {
    ...{ method, path, params: id === undefined ? {} : { id }, query: new URLSearchParams() },
    headers: new Map(),
    body: new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body)),
    ...{ caller, readmit: () => caller, signal: new AbortController().signal },
  } as ServerRequest;
  try {
    checkPermission(caller, route.permission);
    return await route.answer(sent);
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.message } as Reply;
    throw error;
  }
}

/** What somebody tries, and what the model says of it. */
interface Attempt {
  what: string;
  run(caller: Caller): Promise<Pick<Reply, "status">>;
  /** What the rules for people say. */
  isAllowed: boolean;
  /** Whether whoever tries it could read every row whose fate it changes. */
  isRead: boolean;
  /** The server may refuse what the model allows: it does not look into patterns, or into what another's groups grant. */
  isGuarded: boolean;
}

/**
 * Whether the server would have to know what the groups of somebody else grant, where labels come from, or that no row
 * is meant.
 */
function isGuardedAlert(alert: Alert, { grants, actor }: RandomWorld, fits?: Parameters<typeof readRows>[2]) {
  const { saver, isExtracting, other } = alert;
  const isBound = !isFree(saver) && saver.role !== "cluster" && !isContained(saver, actor.person);
  const isLabelled = fits !== undefined && (isExtracting || other !== undefined);
  return isBound || isLabelled || readRows(alert, grants, fits).length === 0;
}

function attemptsOn(world: RandomWorld, random: Random): Attempt[] {
  const { person } = world.actor;
  return [
    ...attemptsOnAlerts(world),
    ...webhookIds.flatMap((id) => attemptsOnWebhook(id, world)),
    ...world.silences.flatMap((silence) => attemptsOnSilence(silence, world, random)),
    ...world.exclusions.flatMap((exclusion) => attemptsOnExclusion(exclusion, world, random)),
  ].filter(() => person.role !== "viewer" || random() < 0.2);
}

function attemptsOnAlerts(world: RandomWorld): Attempt[] {
  const { person } = world.actor;
  return world.alerts
    .filter(({ isManaged }) => !isManaged)
    .flatMap((alert) => {
      const verdict = {
        isAllowed: mayChange.alert(person, alert),
        isRead: canReadAll(readRows(alert, world.grants), person, world),
        isGuarded: false,
      };
      const body = { alert: alertBody({ ...alert, where: {} }) };
      return [
        {
          what: `update ${alert.id}`,
          ...verdict,
          run: (by: Caller) => request(by, "POST", "/alerts/update", undefined, body),
        },
        {
          what: `delete ${alert.id}`,
          ...verdict,
          run: (by: Caller) => request(by, "DELETE", "/alerts/{id}", alert.id),
        },
      ];
    });
}

function attemptsOnWebhook(id: string, world: RandomWorld): Attempt[] {
  const { person } = world.actor;
  const uses = world.alerts.filter(({ webhooks }) => webhooks.includes(id));
  const isAllowed = mayChange.webhook(person, id, world);
  const isGuarded = uses.some((alert) => isGuardedAlert(alert, world));
  const verdict = { isAllowed, isRead: isAllowed, isGuarded };
  const body = { webhook: { url: "https://mine.example/" } };
  return [
    { what: `update ${id}`, ...verdict, run: (by) => request(by, "PUT", "/webhooks/{id}", id, body) },
    // One that is used is not deleted by anybody.
    ...(uses.length > 0
      ? []
      : [
          {
            what: `delete ${id}`,
            ...verdict,
            run: (by: Caller) => request(by, "DELETE", "/webhooks/{id}", id),
          },
        ]),
    {
      what: `see the secrets of ${id}`,
      ...verdict,
      run: async (by) => {
        const { body: text } = await request(by, "GET", "/webhooks/{id}", id);
        return { status: String(text).includes("[hidden]") ? 403 : 200 };
      },
    },
  ];
}

function attemptsOnSilence(
  silence: RandomWorld["silences"][number],
  world: RandomWorld,
  random: Random,
): Attempt[] {
  const { person } = world.actor;
  const isGuardedBy = (each: Silence) =>
    world.alerts.some(
      (alert) =>
        each.alertIds?.includes(alert.id) && isGuardedAlert(alert, world, (labels) => covers(each, labels)),
    );
  const silenced = silencedRows(silence, world);
  const isRead = canReadAll(silenced, person, world);
  const changed = randomSilence(
    person,
    random,
    world.alerts.map(({ id }) => id),
  );
  const isSaved = mayChange.newSilence(person, changed, world);
  const isChanged = mayChange.silence(person, silence, world);
  const body = { silence: silenceBody(changed) };
  return [
    {
      what: `silence ${JSON.stringify(changed)}`,
      isAllowed: isSaved,
      isRead: canReadAll(silencedRows(changed, world), person, world),
      isGuarded: isGuardedBy(changed),
      run: (by) => request(by, "POST", "/silences", undefined, body),
    },
    {
      what: `change ${silence.id} to ${JSON.stringify(changed)}`,
      isAllowed: isSaved && isChanged,
      isRead,
      isGuarded: isGuardedBy(changed) || isGuardedBy(silence),
      run: (by) => request(by, "PUT", "/silences/{id}", silence.id, body),
    },
    {
      what: `end ${silence.id}`,
      isAllowed: isChanged,
      isRead,
      isGuarded: isGuardedBy(silence),
      run: (by) => request(by, "DELETE", "/silences/{id}", silence.id),
    },
  ];
}

function attemptsOnExclusion(
  exclusion: RandomWorld["exclusions"][number],
  world: RandomWorld,
  random: Random,
): Attempt[] {
  const { person } = world.actor;
  const hasPattern = ({ rules }: Exclusion) =>
    rules.some(({ match }) => match.some(({ operator }) => operator === "RegexIn"));
  const changed = randomExclusion(random);
  const isSaved = mayChange.exclusion(person, changed, world);
  const isChanged = mayChange.exclusion(person, exclusion, world);
  const body = { ingestionRule: exclusionBody(changed) };
  const verdict = (isAllowed: boolean, ...of: Exclusion[]) => ({
    ...{ isAllowed, isRead: isAllowed, isGuarded: of.some(hasPattern) },
  });
  return [
    {
      what: `drop ${JSON.stringify(changed)}`,
      ...verdict(isSaved, changed),
      run: (by) => request(by, "POST", "/ingestion-rules", undefined, body),
    },
    {
      what: `change ${exclusion.id} to ${JSON.stringify(changed)}`,
      ...verdict(isSaved && isChanged, changed, exclusion),
      run: (by) => request(by, "PUT", "/ingestion-rules/{id}", exclusion.id, body),
    },
    {
      what: `delete ${exclusion.id}`,
      ...verdict(isChanged, exclusion),
      run: (by) => request(by, "DELETE", "/ingestion-rules/{id}", exclusion.id),
    },
  ];
}

/** The caller as requests of theirs have it: with the groups of this moment. */
function asking({ person, caller }: Known): Caller {
  return { ...caller, role: person.role, groups: person.groups };
}

const counted = { allowed: 0, refused: 0, guarded: 0, instances: 0 };

/** Leaves out what the model does not read. */
const hideCallers = (key: string, value: unknown) =>
  key === "known" || key === "people" ? undefined : value;

async function checkWorld(world: RandomWorld, random: Random): Promise<void> {
  await install(world);
  const back = state.mark();
  const by = asking(world.actor);
  const tell = (what: string) =>
    JSON.stringify({ what, seed, ...world, actor: world.actor.person }, hideCallers);
  for (const { what, run, isAllowed, isRead, isGuarded } of attemptsOn(world, random)) {
    const { status } = await run(by);
    const expected = by.role === "viewer" ? false : isAllowed;
    if (status === 200 && !isRead) expect.fail(`allowed over rows that are not read: ${tell(what)}`);
    if ((status === 200) !== expected && !(isGuarded && status === 403))
      expect.fail(`${status} where the model says ${expected}: ${tell(what)}`);
    if (status !== 200 && status !== 403) expect.fail(`${status}: ${tell(what)}`);
    if (status === 200) counted.allowed++;
    else if (expected) counted.guarded++;
    else counted.refused++;
    back();
  }
  checkInstances(world, tell);
}

/** A silence that names no alert holds for the instances that its saver reads, and an alert's messages are theirs. */
function checkInstances(world: RandomWorld, tell: (what: string) => string): void {
  const { person } = world.actor;
  const by = asking(world.actor);
  for (const alert of world.alerts) {
    for (const labels of instancesOf(alert)) {
      const fits = (each: Readonly<Record<string, string>>) => covers({ match: matchOf(labels) }, each);
      const isHeld = control.scope.canSilence(by, alert.id, labelValues(labels));
      const expected = canSilence(person, alert, world, fits);
      const isGuarded = !isHeld && isGuardedAlert(alert, world, fits);
      if (isHeld !== expected && !isGuarded)
        expect.fail(tell(`${alert.id} ${JSON.stringify(labels)}: ${isHeld}`));
      counted.instances++;
    }
    const canResend = control.visibility.alertOf(alert.id, by)?.canResend;
    const expected = canReadAll(readRows(alert, world.grants), person, world);
    const isGuarded = canResend === false && isGuardedAlert(alert, world);
    if (canResend !== undefined && canResend !== expected && !isGuarded)
      expect.fail(tell(`resend ${alert.id}: ${canResend}`));
  }
}

const matchOf = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([key, value]) => ({ key, operator: "In" as const, values: [value] }));

test(`nobody changes what happens to rows that they may not read, in ${worlds} random worlds (SVC_SEED=${seed})`, async () => {
  for (let i = 0; i < worlds; i++) {
    // Each world has a seed of its own.
    const random = randomOf(seed + i);
    setBack();
    await checkWorld(await randomWorld(i, random), random);
  }
  expect(counted.allowed).toBeGreaterThan(worlds);
  expect(counted.refused).toBeGreaterThan(worlds);
  if (process.env.SVC_SOAK === "1") process.stdout.write(`${worlds} worlds: ${JSON.stringify(counted)}\n`);
});
