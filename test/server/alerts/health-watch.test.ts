/** Alerts that are not judged: who is told, once, and when it is over; over restarts and failed writes. */

import { expect, test } from "vitest";
import { HealthWatch, type WatchedAlert } from "../../../server/alerts/health-watch.ts";
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";
import type { Action } from "../../../server/model/alert.ts";
import type { AlertEvent } from "../../../server/model/event.ts";
import { Disk } from "./disk.ts";
import { alertOf, ruleOf, World } from "./world.ts";

const minute = 60_000;
const startMs = Date.UTC(2026, 0, 10, 12);
const own: Action = { type: "webhook", webhookDestination: { uuid: "own" } };
const other: Action = { type: "webhook", webhookDestination: { uuid: "other" } };
const routed: Action = { type: "webhook", webhookDestination: { uuid: "routed" } };

class Watch {
  nowMs = startMs;
  readonly disk = new Disk();
  state = this.disk.open();
  readonly told: string[] = [];
  readonly events: AlertEvent[] = [];
  alerts: WatchedAlert[] = [];
  watch = this.open();

  open(): HealthWatch {
    this.watch = new HealthWatch({
      state: this.state,
      now: () => this.nowMs,
      alerts: () => this.alerts,
      outbox: {
        prepare: ({ messages }) => ({
          changes: [],
          stored: () => {
            for (const { event, actions } of messages) {
              this.events.push(event);
              for (const action of actions)
                if (action.type === "webhook")
                  this.told.push(`${event.type} ${event.alertId} ${action.webhookDestination.uuid}`);
            }
          },
        }),
      },
      actionsFor: (_event, actions) => [...actions, { ...routed, routeId: "r" }],
      log: () => undefined,
    });
    return this.watch;
  }

  /** Looks every minute. */
  async pass(minutes: number): Promise<void> {
    for (let i = 0; i < minutes; i++) {
      await this.watch.look();
      this.nowMs += minute;
    }
  }
}

function alertWith(changes: Partial<AlertDefinition> = {}): AlertDefinition {
  const rules = [
    { ...ruleOf({}), actions: [own] },
    { ...ruleOf({}), name: "second", actions: [own, other] },
  ];
  return { ...alertOf("a", "q", rules), ...changes };
}

test("all destinations of an alert are told once when it was not judged for long, and once when it is again", async () => {
  const world = new Watch();
  const alert = alertWith({ severity: "critical" });
  world.alerts = [{ alert, problem: "access lost: no rule" }];
  await world.pass(10);
  expect(world.told).toEqual([]);
  expect(world.watch.unhealthySinceMs("a")).toBeUndefined();
  await world.pass(30);
  const unhealthy = ["own", "other", "routed"].map((uuid) => `alertUnhealthy a ${uuid}`);
  expect(world.told).toEqual(unhealthy);
  expect(world.watch.unhealthySinceMs("a")).toBe(startMs);
  expect(world.watch.unhealthyCount).toBe(1);
  world.alerts = [{ alert, problem: null }];
  await world.pass(5);
  expect(world.told.slice(3)).toEqual(["own", "other", "routed"].map((uuid) => `alertHealthy a ${uuid}`));
  expect(world.watch.unhealthySinceMs("a")).toBeUndefined();
  const [begin, end] = world.events as [AlertEvent, AlertEvent];
  expect(begin).toMatchObject({ problem: "access lost: no rule", firedAtMs: startMs, severity: "critical" });
  expect(end).toMatchObject({ fireId: begin.fireId, problem: "access lost: no rule" });
  expect(end.id).not.toBe(begin.id);
});

test("what is over before that is told to nobody; the next time counts from its own begin", async () => {
  const world = new Watch();
  const alert = alertWith();
  for (let i = 0; i < 5; i++) {
    world.alerts = [{ alert, problem: "the query failed" }];
    await world.pass(9);
    world.alerts = [{ alert, problem: null }];
    await world.pass(1);
  }
  expect(world.told).toEqual([]);
});

test("the time is the alert's own; 0 tells at once", async () => {
  const world = new Watch();
  world.alerts = [{ alert: alertWith({ unhealthyAfterSeconds: 0 }), problem: "no data" }];
  await world.pass(1);
  expect(world.told).toHaveLength(3);
});

test("a restart tells nothing again, and forgets nothing; the end of a deleted alert is told", async () => {
  const world = new Watch();
  const alert = alertWith();
  world.alerts = [{ alert, problem: "p" }];
  await world.pass(6);
  world.state = world.disk.open();
  world.open();
  await world.pass(6);
  expect(world.told).toHaveLength(3);
  world.state = world.disk.open();
  world.open();
  // Before the first evaluation nothing is known.
  world.alerts = [{ alert, problem: undefined }];
  await world.pass(3);
  expect(world.told).toHaveLength(3);
  world.alerts = [{ alert, problem: "p" }];
  expect(world.watch.unhealthySinceMs("a")).toBe(startMs);
  await world.pass(20);
  world.state = world.disk.open();
  world.open();
  world.alerts = [];
  await world.pass(2);
  expect(world.told.slice(3)).toEqual(["own", "other", "routed"].map((uuid) => `alertHealthy a ${uuid}`));
  const [begin, end] = world.events as [AlertEvent, AlertEvent];
  expect(end).toMatchObject({
    fireId: begin.fireId,
    reason: "deleted",
    problem: "p",
    alertName: begin.alertName,
  });
  expect(world.state.list("alert-health")).toEqual([]);
});

test("what could not be stored is not told, and is tried again", async () => {
  const world = new Watch();
  world.alerts = [{ alert: alertWith({ unhealthyAfterSeconds: 0 }), problem: "p" }];
  world.disk.isFull = true;
  await expect(world.watch.look()).rejects.toThrow();
  expect(world.told).toEqual([]);
  world.disk.isFull = false;
  await world.watch.look();
  expect(world.told).toHaveLength(3);
});

test("the evaluator names alerts whose query fails, and those whose rules find no data", async () => {
  const world = new World(startMs);
  await world.evaluator.upsert(alertOf("fails", "q"));
  await world.evaluator.upsert(alertOf("empty", "plain", [ruleOf({ missing: "missing" })]));
  await world.evaluator.upsert(alertOf("well", "plain well", [ruleOf({ missing: "missing" })]));
  await world.evaluator.begin();
  expect([...world.evaluator.watched()].map(({ problem }) => problem)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  world.failing.add("q");
  for (let i = 0; i < 5; i++) world.put("plain well", {}, startMs + i * minute, 1);
  await world.runUntil(startMs + 3 * minute);
  const problems = [...world.evaluator.watched()].map(({ alert, problem }) => [alert.metadata.id, problem]);
  expect(Object.fromEntries(problems)).toEqual({
    fails: expect.stringContaining("") as string,
    empty: "its query finds no data",
    well: null,
  });
  expect(problems.find(([id]) => id === "fails")![1]).not.toBe("its query finds no data");
});

test("an alert is judged while one of its series has data", async () => {
  const world = new World(startMs);
  await world.evaluator.upsert(alertOf("pods", "by pod", [ruleOf({ missing: "missing" })]));
  await world.evaluator.begin();
  for (let i = 0; i < 20; i++) {
    if (i < 5) world.put("by pod", { pod: "gone" }, startMs + i * minute, 1);
    if (i < 10) world.put("by pod", { pod: "stays" }, startMs + i * minute, 1);
  }
  const problemAt = async (minutes: number) => {
    await world.runUntil(startMs + minutes * minute);
    return [...world.evaluator.watched()].map(({ problem }) => problem);
  };
  expect(await problemAt(4)).toEqual([null]);
  expect(await problemAt(9)).toEqual([null]);
  expect(world.evaluator.summaryOf("pods")).toMatchObject({ state: "noData" });
  expect(await problemAt(19)).toEqual(["its query finds no data"]);
});
