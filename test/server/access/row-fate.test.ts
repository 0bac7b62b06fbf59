/** Random worlds of rules, people and resources: every change that is allowed or refused, against a naive model. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { checkPermission } from "../../../server/access/authentication.ts";
import { labelValues } from "../../../server/access/row-selection.ts";
import { Tokens } from "../../../server/access/tokens.ts";
import type { Reply, ServerRequest } from "../../../server/api/route.ts";
import { type Control, openControl } from "../../../server/control/control-plane.ts";
import type { Caller } from "../../../server/model/caller.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { type Random, randomOf } from "../control/random.ts";
import { MemoryState } from "./memory-state.ts";
import {
  addGroups,
  alertBody,
  exclusionBody,
  install,
  type Known,
  type RandomWorld,
  randomExclusion,
  randomSilence,
  randomWorld,
  silenceBody,
  webhookIds,
} from "./random-world.ts";
import {
  type Alert,
  canReadAll,
  canSilence,
  covers,
  type Exclusion,
  instancesOf,
  isContained,
  isFree,
  mayChange,
  readRows,
  type Silence,
  silencedRows,
} from "./row-fate.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const worlds = process.env.SVC_SOAK === "1" ? 20_000 : 500;

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
    delivery: { undeliverable: () => [], isWebhookOff: () => false },
  });
  await addGroups(control);
  setBack = state.mark();
});
afterAll(() => control.close());

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
  await install(world, control);
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
  const seeds = randomOf(seed);
  for (let i = 0; i < worlds; i++) {
    const random = randomOf(Math.trunc(seeds() * 2 ** 31));
    setBack();
    await checkWorld(await randomWorld(i, random, tokens), random);
  }
  expect(counted.allowed).toBeGreaterThan(worlds);
  expect(counted.refused).toBeGreaterThan(worlds);
  if (process.env.SVC_SOAK === "1") process.stdout.write(`${worlds} worlds: ${JSON.stringify(counted)}\n`);
});
