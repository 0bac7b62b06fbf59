/** A week of alerts in virtual time, with all that goes wrong in a week, against a slow model that knows only what was done. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { investigationRequestsMax } from "../../../server/alerts/limits.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { labelsKey, ModelWeek } from "./week/history.ts";
import type { ModelEvent, ModelFire } from "./week/model.ts";
import { minute, WeekPlan, weekStartMs } from "./week/plan.ts";
import { nameOf } from "./week/receivers.ts";
import { WeekPoints } from "./week/series.ts";
import { WeekWorld } from "./week/world.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const size =
  process.env.SVC_SOAK === "1"
    ? { alerts: 200, queries: 60, hours: 7 * 24 }
    : { alerts: 10, queries: 6, hours: 20 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test(`a week of alerts is as the slow model has it, and each message arrives once (SVC_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const random = new Random(seed);
  const plan = new WeekPlan(random, size);
  const points = new WeekPoints(random, plan);
  const world = new WeekWorld(points);
  await world.live(plan.steps);
  await world.drain();
  expect([...world.behindMs.keys()].sort()).toEqual(plan.queries.toSorted());
  for (const behindMs of world.behindMs.values()) expect(behindMs).toBeGreaterThanOrEqual(30_000);

  const model = new ModelWeek(points, world.behindMs, toldMsOf(world), weekStartMs);
  const torn = new Set(plan.torn.map(([fromMs]) => Math.floor(fromMs / minute) * minute));
  const sights = [...world.sights];
  for (const [i, step] of world.journal.entries()) {
    model.advance(step);
    if (sights[0]?.after === i + 1) compareSight(model, sights.shift()!);
  }
  const all = model.all;
  compareFires(
    [...world.fires.values()],
    all.flatMap(({ fires }) => fires),
  );
  compareMessages(
    world,
    all.flatMap(({ events }) => events),
    torn,
  );
  compareInvestigated(
    world,
    all.flatMap(({ investigated }) => investigated),
  );
  expect(world.notifications().filter(({ status }) => status === "waiting")).toEqual([]);
  const unhealthy = world.receipts.filter(({ events: [event] }) => event?.type === "alertUnhealthy").length;
  const again = world.receipts.filter(({ events: [event] }) => event?.repeat !== undefined).length;
  const fireCount = all.reduce((sum, { fires }) => sum + fires.length, 0);
  expect(fireCount).toBeGreaterThan(size.alerts * 2);
  console.log(
    `seed ${seed}: ${size.alerts} alerts at first and ${all.length} in all, ${size.hours} h, ${world.journal.length} deeds, ` +
      `${fireCount} fires, ${world.receipts.length} messages, ${unhealthy} of alerts that are not judged, ${again} of fires that go on, ${world.givenUp.length} given up`,
  );
});

/** When people were told of the fire that a fire of the model is. */
function toldMsOf({ fires, toldMs }: WeekWorld): (fire: ModelFire) => number {
  const keyOf = ({ alertId, rule, firedAtMs }: Fire | ModelFire, labels: string) =>
    JSON.stringify([alertId, rule, labels, firedAtMs]);
  const told = new Map(
    [...fires.values()]
      .filter((fire) => fire.told === "yes")
      .map((fire) => [keyOf(fire, labelsKey(fire.labels)), toldMs.get(fire.id)]),
  );
  return (fire) => told.get(keyOf(fire, fire.labels)) ?? Number.POSITIVE_INFINITY;
}

/** State, error and history of every alert, as they were seen from outside. */
function compareSight(model: ModelWeek, { alerts, atMs }: WeekWorld["sights"][number]): void {
  for (const [id, seen] of alerts) {
    const alert = model.get(id);
    const where = `${id} at ${new Date(atMs).toISOString()} ${JSON.stringify(alert.alert)}`;
    const expected = alert.transitions.slice(-200).reverse();
    const history = seen.history.map(({ rule, labels, from, to, atMs: at, decided }) => ({
      ...{ rule, labels: labelsKey(labels), from, to, atMs: at },
      decided: [decided.bucketMs, decided.value],
    }));
    expect(byTime(history), where).toEqual(byTime(expected));
    expect([seen.state, seen.hasError], where).toEqual([alert.state(), alert.hasError]);
  }
}

/** What happens in the same bucket has no order of its own. */
function byTime<T extends { atMs: number; rule: string; labels: string }>(transitions: readonly T[]): T[] {
  // A history is cut at some length, which may part those of one bucket.
  const oldestMs = transitions.length === 200 ? transitions.at(-1)!.atMs : 0;
  const whole = transitions.filter(({ atMs }) => atMs !== oldestMs);
  return whole.sort((a, b) => b.atMs - a.atMs || (a.rule + a.labels < b.rule + b.labels ? -1 : 1));
}

type Fire = WeekWorld["fires"] extends Map<string, infer F> ? F : never;

function fireKey({ alertId, rule, labels, firedAtMs, resolvedAtMs, reason, told }: Fire): string {
  return JSON.stringify([alertId, rule, labelsKey(labels), firedAtMs, resolvedAtMs, reason, told]);
}

function modelFireKey({ alertId, rule, labels, firedAtMs, resolvedAtMs, reason, told }: ModelFire): string {
  return JSON.stringify([alertId, rule, labels, firedAtMs, resolvedAtMs, reason, told]);
}

function compareFires(fires: readonly Fire[], expected: readonly ModelFire[]): void {
  expect(fires.map(fireKey).sort()).toEqual(expected.map(modelFireKey).sort());
}

/** The fires that were to be investigated: all, or the newest of them where they are too many. */
function compareInvestigated({ disk, fires }: WeekWorld, expected: readonly ModelFire[]): void {
  const kept = [...(disk.tables.get("investigation-requests")?.keys() ?? [])].map((id) => fires.get(id)!);
  const keys = new Set(kept.map(fireKey));
  const wanted = new Set(expected.map(modelFireKey));
  expect(kept.map(fireKey).filter((key) => !wanted.has(key))).toEqual([]);
  const left = expected.filter((fire) => !keys.has(modelFireKey(fire)));
  expect(left.length).toBe(Math.max(0, expected.length - investigationRequestsMax));
  if (left.length === 0) return;
  // Late rows open fires of earlier times.
  const newestLeftMs = Math.max(...left.map(({ firedAtMs }) => firedAtMs));
  expect(newestLeftMs - Math.min(...kept.map(({ firedAtMs }) => firedAtMs))).toBeLessThan(24 * 60 * minute);
}

/**
 * Every message once, under one id however often it was tried, and the end of a fire after its begin. What did not arrive was said
 * to be given up, or its fire ended before anybody could be told.
 */
function compareMessages(
  { receipts, givenUp, untold }: WeekWorld,
  events: readonly ModelEvent[],
  torn: ReadonlySet<number>,
) {
  const lost = new Set(
    givenUp.map(({ to, event }) => `${to} ${event.type} ${event.fireId} ${event.repeat ?? ""}`),
  );
  const left = [...givenUp, ...untold.values()];
  const lostKeys = new Set(left.map(({ to, event }) => eventKey(to, event, torn)));
  // Of such a fire neither the begin nor the end is told.
  for (const { to, event } of untold.values()) {
    if (!isEnd(event.type)) continue;
    expect(
      receipts.filter((each) => each.to === to && each.events.some((told) => told.fireId === event.fireId)),
    ).toEqual([]);
  }
  const contents = new Map<string, string>();
  const idsOf = new Map<string, Set<string>>();
  const keys = new Map<string, string>();
  const ended = new Set<string>();
  for (const { to, id, events: told } of receipts) {
    const content = JSON.stringify(told.map((event) => event.id).sort());
    expect(contents.get(`${to} ${id}`) ?? content, "the same id for the same message").toBe(content);
    contents.set(`${to} ${id}`, content);
    for (const event of told) {
      const one = `${to} ${event.type} ${event.fireId} ${event.repeat ?? ""}`;
      const begin = `${to} ${beginOf(event.type)} ${event.fireId} `;
      if (one !== begin) expect(keys.has(begin) || lost.has(begin), one).toBe(true);
      if (isEnd(event.type)) ended.add(begin);
      else if (!keys.has(one)) expect(ended.has(begin), one).toBe(false);
      idsOf.set(one, (idsOf.get(one) ?? new Set()).add(id));
      keys.set(one, eventKey(to, event, torn));
    }
  }
  expect([...idsOf].filter(([, ids]) => ids.size !== 1)).toEqual([]);
  const arrived = new Set(keys.values());
  const wanted = events.flatMap((event) => wantedKeys(event, torn));
  expect([...keys.values()].sort()).toEqual(
    wanted.filter((key) => arrived.has(key) || !lostKeys.has(key)).sort(),
  );
}

function isEnd(type: AlertEvent["type"]): boolean {
  return type === "alertResolved" || type === "alertHealthy";
}

function beginOf(type: AlertEvent["type"]): AlertEvent["type"] {
  return type === "alertHealthy" || type === "alertUnhealthy" ? "alertUnhealthy" : "alertFired";
}

function eventKey(to: string, event: AlertEvent, torn: ReadonlySet<number>): string {
  const { alertId, rule, labels, firedAtMs, type, resolvedAtMs = null, reason = null, late } = event;
  const { repeat = null } = event;
  const labelled = labelsKey(labels);
  const atMs = resolvedAtMs ?? firedAtMs;
  return JSON.stringify([
    to,
    type,
    alertId,
    rule,
    labelled,
    firedAtMs,
    resolvedAtMs,
    reason,
    repeat,
    !torn.has(atMs) && late,
  ]);
}

/** Those that want to hear of it: the end by their own wish, and PagerDuty always. Nothing reaches a channel that is gone. */
function wantedKeys(event: ModelEvent, torn: ReadonlySet<number>): string[] {
  const { fire, type, actions, late, resolvedAtMs, reason, repeat = null } = event;
  const { alertId, rule, labels, firedAtMs } = fire;
  const atMs = resolvedAtMs ?? firedAtMs;
  const told = actions.filter((action) => {
    if (nameOf(action) === "slack #gone") return false;
    if (!isEnd(type) || action.type === "pagerDuty") return true;
    if (action.type === "slack") return action.slackDestination.notifyOnResolve === true;
    if (action.type === "email") return action.emailDestination.notifyOnResolve === true;
    const { notifyOnResolve, resolvedUuid } = action.webhookDestination;
    return notifyOnResolve === true || resolvedUuid !== undefined;
  });
  return told.map((action) =>
    JSON.stringify([
      ...[nameOf(action), type, alertId, rule, labels, firedAtMs, resolvedAtMs, reason, repeat],
      !torn.has(atMs) && late,
    ]),
  );
}
