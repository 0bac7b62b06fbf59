/** Messages about fires that go on, and fires that inhibitions hold back, in virtual time. */

import { expect, test } from "vitest";
import { InvestigationRequests } from "../../../server/alerts/investigation-requests.ts";
import { Repeats } from "../../../server/alerts/repeats.ts";
import type { Action } from "../../../server/model/alert.ts";
import type { NotificationRoute } from "../../../server/model/notification-route.ts";
import { alertOf, ruleOf, World } from "./world.ts";

const minute = 60_000;
const startMs = Date.UTC(2026, 0, 10, 12);
const judged = 50_000;
const own: Action = { type: "webhook", webhookDestination: { uuid: "own" } };
const routed: Action = { type: "webhook", webhookDestination: { uuid: "routed" } };

function repeatsOf(world: World, routes: ReadonlyMap<string, NotificationRoute>): Repeats {
  const { evaluator, state } = world;
  return new Repeats({
    ...{ state, records: evaluator.records, now: () => world.nowMs, log: () => undefined },
    outbox: {
      prepare: ({ messages }) => ({
        changes: messages.map(({ event, actions }) => ({
          table: "repeated",
          id: `${String(world.nowMs).padStart(15, "0")} ${event.id} ${JSON.stringify(actions)}`,
          value: JSON.parse(JSON.stringify({ event, actions })) as Record<string, never>,
        })),
        stored: () => undefined,
      }),
    },
    routeOf: (id) => routes.get(id),
    silencedBy: ({ labels }) => [...world.silenced].find((name) => labels.name === name),
    inAlertTurn: (alertId, act) => evaluator.inAlertTurn(alertId, act),
  });
}

type Sent = { event: { repeat: number; type: string; fireId: string; id: string }; actions: Action[] };

function sentBy(world: World): string[] {
  return world.state.list("repeated").map(({ value }) => {
    const { event, actions } = value as unknown as Sent;
    const [action] = actions as [Extract<Action, { type: "webhook" }>];
    return `${action.webhookDestination.uuid} ${event.repeat}`;
  });
}

async function pass(world: World, repeats: Repeats, untilMs: number): Promise<void> {
  while (world.nowMs < untilMs) {
    await world.runUntil(Math.min(untilMs, world.nowMs + 30_000));
    await repeats.sendDue();
  }
}

test("a fire that goes on is told again in the interval of its rule and of its route, until it ends; over a restart too", async () => {
  const world = new World(startMs);
  const routes = new Map([["r", { actions: [routed], repeatSeconds: 300 }]]);
  const actionsFor = () => [own, { ...routed, routeId: "r" }];
  world.open({ actionsFor });
  const rule = { ...ruleOf({}), actions: [own], repeatSeconds: 120 };
  const load = async () => {
    await world.evaluator.upsert(alertOf("a", "q", [rule]));
    await world.evaluator.begin();
  };
  await load();
  for (let i = 0; i < 12; i++) world.put("q", { name: "x" }, startMs + i * minute, i < 11 ? 9 : 1);
  let repeats = repeatsOf(world, routes);
  await pass(world, repeats, startMs + 6 * minute);
  // It fires at the end of the first minute, so that five minutes have passed.
  expect(sentBy(world)).toEqual(["own 1", "own 2", "routed 1"]);
  world.open({ actionsFor });
  await load();
  repeats = repeatsOf(world, routes);
  await pass(world, repeats, startMs + 20 * minute);
  expect(sentBy(world)).toEqual(["own 1", "own 2", "routed 1", "own 3", "own 4", "own 5", "routed 2"]);
  expect(world.told()).toEqual(["fired x", "resolved x recovered"]);
  const ids = world.state.list("repeated").map(({ value }) => (value as unknown as Sent).event);
  expect(new Set(ids.map(({ fireId }) => fireId)).size).toBe(1);
});

test("a silence keeps repeated messages back, and they are not made up for", async () => {
  const world = new World(startMs);
  await world.evaluator.upsert(alertOf("a", "q", [{ ...ruleOf({}), actions: [own], repeatSeconds: 60 }]));
  await world.evaluator.begin();
  for (let i = 0; i < 30; i++) world.put("q", { name: "x" }, startMs + i * minute, 9);
  const repeats = repeatsOf(world, new Map());
  await pass(world, repeats, startMs + 3 * minute);
  world.silenced.add("x");
  await pass(world, repeats, startMs + 10 * minute);
  expect(sentBy(world)).toEqual(["own 1", "own 2"]);
  world.silenced.clear();
  await pass(world, repeats, startMs + 11 * minute);
  expect(sentBy(world).slice(2)).toEqual(["own 9", "own 10"]);
});

test("a fire is held back while another is open, and told when that one ends", async () => {
  const world = new World(startMs);
  world.open({
    subscribers: [
      new InvestigationRequests(world.state),
      {
        prepare: ({ messages }) => ({
          changes: messages.map((message) => ({
            table: "sent",
            id: `${String(world.nowMs).padStart(15, "0")} ${message.event.id}`,
            value: JSON.parse(JSON.stringify(message)) as Record<string, never>,
          })),
          stored: () => undefined,
        }),
      },
    ],
    silencedBy: (fire, openFires) =>
      fire.alertId === "slow" && [...openFires()].some(({ alertId }) => alertId === "down")
        ? "inhibition/down"
        : undefined,
  });
  await world.evaluator.upsert(alertOf("down", "q down", [ruleOf({})]));
  await world.evaluator.upsert(alertOf("slow", "q slow", [ruleOf({})]));
  await world.evaluator.begin();
  for (let i = 0; i < 8; i++) {
    world.put("q down", { name: "down" }, startMs + i * minute, i < 4 ? 9 : 1);
    world.put("q slow", { name: "slow" }, startMs + i * minute, i === 0 ? 1 : 9);
  }
  await world.runUntil(startMs + 3 * minute + judged);
  expect(world.told()).toEqual(["fired down"]);
  expect(world.evaluator.fires("slow")).toMatchObject([{ told: "no", silencedBy: "inhibition/down" }]);
  await world.runUntil(startMs + 7 * minute + judged);
  expect(world.told()).toEqual(["fired down", "resolved down recovered", "fired slow"]);
});
