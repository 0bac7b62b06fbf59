import { expect, test } from "vitest";
import type { FireSubscriber } from "../../../server/alerts/fire-subscriber.ts";
import { InvestigationRequests } from "../../../server/alerts/investigation-requests.ts";
import {
  deletedAlertsFiresMax,
  instanceIdleMsMax,
  investigationRequestsMax,
  resolvedFiresMax,
} from "../../../server/alerts/limits.ts";
import { AlertRecords } from "../../../server/alerts/records.ts";
import type { Fire } from "../../../server/alerts/state/fire.ts";
import { alertOf, ruleOf, World } from "./world.ts";

const minute = 60_000;
const startMs = Date.UTC(2026, 0, 10, 12);
/** Later than any evaluation of a bucket that ends at a full minute. */
const judged = 50_000;

async function worldWith(...alerts: ReturnType<typeof alertOf>[]): Promise<World> {
  const world = new World(startMs);
  for (const alert of alerts) await world.evaluator.upsert(alert);
  await world.evaluator.begin();
  return world;
}

/** Values of successive minutes from the start, null for none. */
function fill(world: World, query: string, name: string, values: readonly (number | null)[]): void {
  for (const [i, value] of values.entries()) {
    if (value !== null) world.put(query, { name }, startMs + i * minute, value);
  }
}

test("each label set fires and resolves by itself, with one id from fire to resolve", async () => {
  const world = await worldWith(alertOf("a", "q"));
  fill(world, "q", "x", [1, 9, 9, 1]);
  fill(world, "q", "y", [1, 1, 9, 9]);
  await world.runUntil(startMs + 4 * minute + judged);
  expect(world.told()).toEqual(["fired x", "fired y", "resolved x recovered"]);
  const [fired, , resolved] = world.messages().map(({ event }) => event);
  expect(resolved!.fireId).toBe(fired!.fireId);
  expect(fired!.breached).toEqual({ bucketMs: startMs + minute, value: 9 });
  expect(fired!.firedAtMs).toBe(startMs + 2 * minute);
  expect(resolved!.resolvedAtMs).toBe(startMs + 4 * minute);
  expect(world.evaluator.stateOf("a")!.state).toBe("firing");
});

test("firing, no data, firing is one fire and tells nothing in between", async () => {
  const world = await worldWith(alertOf("a", "q", [ruleOf({ missing: "missing" })]));
  fill(world, "q", "x", [9, null, null, null, null, 9, 1]);
  await world.runUntil(startMs + 5 * minute + judged);
  expect(world.evaluator.stateOf("a")!.state).toBe("noData");
  await world.runUntil(startMs + 7 * minute + judged);
  expect(world.told()).toEqual(["fired x", "resolved x recovered"]);
  expect(world.evaluator.history("a").map(({ to }) => to)).toEqual(["ok", "firing", "noData", "firing"]);
});

test("an instance leaves after a day without data, and its fire ends", async () => {
  const world = await worldWith(alertOf("a", "q", [ruleOf({ missing: "ignore" })]));
  fill(world, "q", "x", [9]);
  await world.runUntil(startMs + instanceIdleMsMax + judged);
  expect(world.told()).toEqual(["fired x"]);
  await world.runUntil(startMs + instanceIdleMsMax + minute + judged);
  expect(world.told()).toEqual(["fired x", "resolved x gone"]);
  expect(Object.keys(world.evaluator.stateOf("a")!.details.instances)).toEqual([]);
});

test("a query without groups always has its one instance", async () => {
  const world = await worldWith(alertOf("a", "plain", [ruleOf({ missing: "missing" })]));
  await world.runUntil(startMs + 3 * minute);
  expect(world.evaluator.stateOf("a")!.state).toBe("noData");
  await world.runUntil(startMs + 2 * instanceIdleMsMax);
  expect(Object.keys(world.evaluator.stateOf("a")!.details.instances)).toEqual(["[]"]);
});

test("a failing query leaves the state as it was, is shown, and what it hid is judged when it works again", async () => {
  const world = await worldWith(alertOf("a", "q"));
  fill(world, "q", "x", [9, 9, 1, 9, 1]);
  await world.runUntil(startMs + minute + judged);
  world.failing.add("q");
  await world.runUntil(startMs + 4 * minute + judged);
  expect(world.evaluator.stateOf("a")).toMatchObject({ state: "firing", error: "the store is on fire" });
  expect(world.logged).toHaveLength(1);
  world.failing.clear();
  await world.runUntil(startMs + 5 * minute + judged);
  expect(world.told()).toEqual(["fired x", "fired x", "resolved x recovered", "resolved x recovered"]);
  expect(world.evaluator.stateOf("a")).toMatchObject({ state: "ok", error: null });
});

test("changing what a rule means ends its fires, and it starts afresh; other edits keep them", async () => {
  const rules = [ruleOf({ name: "low" }), ruleOf({ name: "high", above: 7 })];
  const world = await worldWith(alertOf("a", "q", rules));
  fill(world, "q", "x", [9, 9, 9, 9, 9, 9]);
  await world.runUntil(startMs + minute + judged);
  const ids = () =>
    world.messages().map(({ event }) => `${event.type} ${event.rule} ${event.reason ?? ""}`.trim());
  expect(ids()).toEqual(["alertFired high", "alertFired low"].sort());
  const renamed = alertOf("a", "q", rules);
  renamed.metadata.name = "another name";
  await world.evaluator.upsert(renamed);
  expect(ids()).toHaveLength(2);
  await world.evaluator.upsert(alertOf("a", "q", [rules[0]!, ruleOf({ name: "high", above: 8 })]));
  await world.settle();
  expect(ids().slice(2).sort()).toEqual(["alertFired high", "alertResolved high changed"]);
  world.nowMs += 1;
  await world.evaluator.upsert(alertOf("a", "q", [rules[0]!]));
  expect(ids().slice(4)).toEqual(["alertResolved high changed"]);
  world.nowMs += 1;
  await world.evaluator.upsert(alertOf("a", "q2", [rules[0]!]));
  expect(ids().slice(5)).toEqual(["alertResolved low changed"]);
  expect(new Set(world.messages().map(({ event }) => event.id)).size).toBe(6);
});

test("a window that shrank and grows again is read anew", async () => {
  const of = (n: number) => alertOf("a", "q", [ruleOf({ m: Math.min(n, 5), n })]);
  const world = await worldWith(of(6));
  fill(world, "q", "x", [9, 9, 9, 9, 9, 9, 9, 1, 1, 1]);
  await world.runUntil(startMs + 7 * minute + judged);
  await world.evaluator.upsert(of(1));
  await world.runUntil(startMs + 8 * minute + judged);
  expect(world.evaluator.stateOf("a")!.state).toBe("ok");
  await world.evaluator.upsert(of(6));
  await world.settle();
  expect(world.evaluator.stateOf("a")!.state).toBe("firing");
});

test("deleting an alert ends its fires, also when that is found out at the next start", async () => {
  const world = await worldWith(alertOf("a", "q"), alertOf("b", "q"));
  fill(world, "q", "x", [9]);
  await world.runUntil(startMs + minute + judged);
  await world.evaluator.remove("a");
  expect(world.told()).toEqual(["fired x", "fired x", "resolved x deleted"]);
  await world.open().begin();
  expect(world.told()).toEqual(["fired x", "fired x", "resolved x deleted", "resolved x deleted"]);
  expect(world.state.list("alert-states")).toEqual([]);
});

test("a bucket is judged once: rows that come later are counted, not judged", async () => {
  const world = await worldWith(alertOf("a", "q"));
  fill(world, "q", "x", [1, 1, 1, 1, 1, 1, 1, 1, 1]);
  world.put("q", { name: "x" }, startMs + 2 * minute, 9, startMs + 4 * minute);
  await world.runUntil(startMs + 9 * minute);
  expect(world.told()).toEqual([]);
  expect(world.metric("svc_alert_late_buckets_total")).toBe(1);
});

test("every late row is counted that comes while its bucket is in the window, as soon as the next bucket is judged", async () => {
  const world = await worldWith(alertOf("a", "q", [ruleOf({ m: 4, n: 4 })]));
  fill(world, "q", "x", Array<number>(60).fill(1));
  let counted = 0;
  for (const lateMinutes of [1, 2, 3, 4, 5, 1, 5, 3]) {
    const bucketMs = Math.floor(world.nowMs / minute) * minute;
    world.put("q", { name: "x" }, bucketMs, 9, bucketMs + minute + lateMinutes * minute);
    await world.runUntil(bucketMs + (lateMinutes + 3) * minute);
    expect(world.metric("svc_alert_late_buckets_total"), `${lateMinutes} minutes late`).toBe(++counted);
  }
});

test("only buckets that were not seen are read, and alerts that ask the same are answered by one query", async () => {
  const world = await worldWith(
    ...Array.from({ length: 20 }, (_, i) => alertOf(`a${i}`, "q", [ruleOf({ above: i })])),
  );
  fill(world, "q", "x", Array<number>(30).fill(10.5));
  await world.runUntil(startMs + minute + judged);
  world.asked.length = 0;
  await world.runUntil(startMs + 13 * minute + judged);
  expect(world.asked).toHaveLength(12);
  const buckets = world.asked.map(({ startMs: from, endMs }) => (endMs + 1 - from) / minute);
  expect(new Set(buckets)).toEqual(new Set([1]));
  expect(world.told()).toHaveLength(11);
});

test("buckets that overlap a downtime leave no trace", async () => {
  const world = await worldWith(alertOf("a", "q", [ruleOf({ m: 1, n: 3, missing: "breaching" })]));
  for (let i = -6; i < 5; i++) world.put("q", { name: "x" }, startMs + i * minute, 1);
  await world.runUntil(startMs + 4 * minute + judged);
  expect(world.told()).toEqual([]);
  await world.evaluator.close();
  world.nowMs += 90 * minute;
  const evaluator = world.open();
  await evaluator.upsert(alertOf("a", "q", [ruleOf({ m: 1, n: 3, missing: "breaching" })]));
  await evaluator.begin();
  await world.runUntil(startMs + 96 * minute);
  expect(world.told()).toEqual([]);
  fill(world, "q", "x", [...Array<null>(96).fill(null), 1, 1, 1, 1, 1, 1]);
  await world.runUntil(startMs + 100 * minute + judged);
  expect(world.told()).toEqual([]);
  await world.runUntil(startMs + 106 * minute);
  expect(world.told()).toEqual(["fired x"]);
});

test("after an hour without evaluation the missed buckets are judged in order, without a storm", async () => {
  const world = await worldWith(alertOf("a", "q"));
  const hour = (...values: number[]) => values.flatMap((value) => Array<number>(10).fill(value));
  fill(world, "q", "toldBefore", hour(9, 9, 1, 1, 1, 1, 1, 1));
  fill(world, "q", "unseen", hour(1, 1, 9, 1, 9, 1, 1, 1));
  fill(world, "q", "open", hour(1, 1, 1, 1, 9, 9, 9, 9));
  await world.runUntil(startMs + 15 * minute);
  expect(world.told()).toEqual(["fired toldBefore"]);
  world.failing.add("q");
  await world.runUntil(startMs + 75 * minute);
  world.failing.clear();
  await world.runUntil(startMs + 77 * minute);
  expect(world.told()).toEqual(["fired toldBefore", "fired open late", "resolved toldBefore recovered late"]);
  const unseen = world.evaluator.fires("a").filter(({ told }) => told === "unseen");
  expect(
    unseen.map(({ firedAtMs, resolvedAtMs }) =>
      [firedAtMs, resolvedAtMs].map((ms) => (ms! - startMs) / minute),
    ),
  ).toEqual([
    [41, 51],
    [21, 31],
  ]);
});

test("the evaluator says how far behind it is, what it missed, and which alerts fail", async () => {
  const world = await worldWith(alertOf("a", "q"), alertOf("b", "r"));
  fill(world, "q", "x", Array<number>(20).fill(1));
  await world.runUntil(startMs + 3 * minute + judged);
  expect(world.metric("svc_alert_lag_seconds")).toBe(0);
  expect(world.metric("svc_alert_missed_buckets_total")).toBe(0);
  // Nobody evaluates for four minutes.
  const dueMs = world.evaluator.nextDueMs();
  world.nowMs += 4 * minute;
  expect(world.metric("svc_alert_lag_seconds")).toBe((world.nowMs - dueMs) / 1000);
  await world.settle();
  expect(world.metric("svc_alert_lag_seconds")).toBe(0);
  expect(world.metric("svc_alert_missed_buckets_total")).toBe(2 * 3);
  world.failing.add("r");
  await world.runUntil(startMs + 9 * minute + judged);
  expect(world.metric("svc_alert_errors")).toBe(1);
  world.failing.clear();
  await world.runUntil(startMs + 11 * minute + judged);
  expect(world.metric("svc_alert_errors")).toBe(0);
});

test("a silence keeps quiet, and who is still in trouble when it ends is told then", async () => {
  const world = await worldWith(alertOf("a", "q"));
  fill(world, "q", "short", [1, 9, 9, 1, 1, 1, 1, 1]);
  fill(world, "q", "long", [1, 9, 9, 9, 9, 9, 9, 1]);
  world.silenced.add("short").add("long");
  await world.runUntil(startMs + 5 * minute + judged);
  expect(world.told()).toEqual([]);
  expect(world.evaluator.fires("a").map(({ silencedBy }) => silencedBy)).toEqual(["short", "long"]);
  world.silenced.clear();
  await world.runUntil(startMs + 9 * minute);
  expect(world.told()).toEqual(["fired long", "resolved long recovered"]);
});

test("a clock that goes back a little is waited for, one that goes back far starts anew and keeps the fires", async () => {
  const world = await worldWith(alertOf("a", "q"));
  fill(world, "q", "x", Array<number>(200).fill(9));
  await world.runUntil(startMs + 100 * minute + judged);
  expect(world.told()).toEqual(["fired x"]);
  world.nowMs -= 3 * minute;
  const asked = world.asked.length;
  await world.settle();
  expect(world.asked).toHaveLength(asked);
  world.nowMs -= 60 * minute;
  await world.settle();
  expect(world.asked).toHaveLength(asked + 1);
  await world.runUntil(world.nowMs + 2 * minute);
  expect(world.evaluator.stateOf("a")!.details.throughMs).toBeLessThan(startMs + 42 * minute);
  expect(world.told()).toEqual(["fired x"]);
});

test("a fire asks for an investigation exactly once", async () => {
  const world = await worldWith({ ...alertOf("a", "q"), investigateOnFire: true });
  fill(world, "q", "x", [1, 9, 9, 9, 1, 9, 9]);
  await world.runUntil(startMs + 8 * minute);
  expect(world.state.list("investigation-requests")).toHaveLength(2);
  expect(
    world.evaluator
      .fires("a")
      .map(({ id }) => id)
      .sort(),
  ).toEqual(world.state.list("investigation-requests").map(({ id }) => id));
});

test("evaluations are explained", async () => {
  const world = await worldWith(alertOf("a", "q", [ruleOf({ m: 2, n: 3 })]));
  fill(world, "q", "x", [1, 9, 9, 1]);
  await world.runUntil(startMs + 3 * minute + judged);
  const [newest] = world.evaluator.evaluations("a");
  expect(newest!.instances[0]).toMatchObject({
    labels: { name: "x" },
    rules: [
      { rule: "high", state: "firing", verdict: "firing", why: "2 of 3 points breach; 2 of 3 are needed" },
    ],
  });
});

test("of alerts that ask the same, only those to which something happens are stored anew", async () => {
  const world = await worldWith(alertOf("quiet", "q", [ruleOf({ above: 100 })]), alertOf("loud", "q"));
  fill(world, "q", "x", [1, 1, 1, 9, 9, 9]);
  await world.runUntil(startMs + minute + judged);
  const stored = () =>
    Object.fromEntries(world.state.list("alert-states").map(({ id, value }) => [id, value]));
  const before = stored();
  await world.runUntil(startMs + 6 * minute + judged);
  const after = stored();
  expect(after.quiet).toEqual(before.quiet);
  expect(after.loud).not.toEqual(before.loud);
  expect(world.evaluator.stateOf("quiet")!.details.throughMs).toBe(startMs + 6 * minute);
  expect(world.state.list("alert-windows")).toHaveLength(1);
  expect(world.evaluator.evaluations("quiet")[0]!.instances[0]!.points.at(-1)).toEqual([
    startMs + 5 * minute,
    9,
  ]);
});

test("a state of version 1 is taken up where it was, one of a later version is refused", async () => {
  const world = await worldWith(alertOf("a", "q"));
  fill(world, "q", "x", [9, 9, 9, 1]);
  await world.runUntil(startMs + minute + judged);
  const [{ value: state }] = world.state.list("alert-states") as unknown as [
    { value: Record<string, unknown> },
  ];
  const { version: _, window: __, ...first } = state;
  const old = { ...first, throughMs: startMs + minute, windowBuckets: 3, buckets: [] };
  await world.state.write([
    { table: "alert-states", id: "a", value: old as never },
    { table: "alert-windows", id: world.state.list("alert-windows")[0]!.id, value: undefined },
  ]);
  world.open();
  await world.evaluator.upsert(alertOf("a", "q"));
  await world.evaluator.begin();
  await world.runUntil(startMs + 4 * minute + judged);
  expect(world.told()).toEqual(["fired x", "resolved x recovered"]);
  await world.state.write([{ table: "alert-states", id: "a", value: { ...old, version: 3 } as never }]);
  expect(() => world.open()).toThrow('the state of alert "a" has version 3, not 2');
});

test("a query that hangs holds no stop up", async () => {
  const world = new World(startMs);
  const evaluator = world.open({ query: () => new Promise(() => undefined) });
  await evaluator.upsert(alertOf("a", "q"));
  await evaluator.begin();
  evaluator.run();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await evaluator.close();
  expect(world.logged).toEqual([]);
});

test("fires of deleted alerts are bounded, whether they are deleted now or while the server is down", async () => {
  const { state } = new World(startMs);
  const fires = () => state.list("alert-fires").map(({ value }) => value as unknown as Fire);
  const records = new AlertRecords(state, 1);
  const alerts = Array.from({ length: deletedAlertsFiresMax / resolvedFiresMax + 2 }, (_, i) => `a${i}`);
  for (const [at, alertId] of alerts.entries()) {
    const ended = Array.from({ length: resolvedFiresMax }, (_, i) => {
      return { id: `${alertId} ${i}`, alertId, firedAtMs: at, resolvedAtMs: at } as Fire;
    });
    await state.write([...records.fireChanges(ended), ...(at === 0 ? [] : records.removal(alertId))]);
  }
  expect(fires()).toHaveLength(deletedAlertsFiresMax + resolvedFiresMax);
  expect(fires().filter(({ alertId }) => alertId === "a0" || alertId === "a2")).toHaveLength(1_000);
  expect(fires().filter(({ alertId }) => alertId === "a1")).toEqual([]);
  await state.write(new AlertRecords(state, 1).unusedFireChanges(() => false));
  expect(fires()).toHaveLength(deletedAlertsFiresMax);
  expect(fires().filter(({ alertId }) => alertId === "a0")).toEqual([]);
});

test("requests for investigations are bounded: the oldest go", async () => {
  const { state } = new World(startMs);
  const alert = { ...alertOf("a", "q"), investigateOnFire: true };
  const request = async (subscriber: FireSubscriber, name: string, atMs: number) => {
    const fire = { id: name, alertId: "a" } as Fire;
    const { changes } = subscriber.prepare({ nowMs: atMs, messages: [], firstSeen: [{ fire, alert }] });
    await state.write(changes);
  };
  let subscriber = new InvestigationRequests(state);
  for (let i = 0; i < investigationRequestsMax + 2; i++) await request(subscriber, `${i}`, i);
  subscriber = new InvestigationRequests(state);
  await request(subscriber, "last", investigationRequestsMax + 2);
  expect(state.list("investigation-requests")).toHaveLength(investigationRequestsMax);
  const ids = new Set(state.list("investigation-requests").map(({ id }) => id));
  expect(["0", "1", "2", "3", "last"].filter((id) => ids.has(id))).toEqual(["3", "last"]);
});
