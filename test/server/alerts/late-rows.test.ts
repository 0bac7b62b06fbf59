/** Rows that come after their bucket was judged, the wait for them, and states that an earlier version stored. */
import { expect, test } from "vitest";
import type { EvaluatorOptions } from "../../../server/alerts/evaluator-options.ts";
import { alertOf, ruleOf, World } from "./world.ts";

const minute = 60_000;
const startMs = Date.UTC(2026, 0, 10, 12);
/** Later than any evaluation of a bucket that ends at a full minute. */
const judged = 50_000;

/** Values of successive minutes from the start, null for none. */
function fill(world: World, query: string, name: string, values: readonly (number | null)[]): void {
  for (const [i, value] of values.entries()) {
    if (value !== null) world.put(query, { name }, startMs + i * minute, value);
  }
}

/** A world whose evaluator judges again what late rows change. */
async function correctingWorld(
  changes: Partial<EvaluatorOptions>,
  alert = alertOf("a", "q"),
): Promise<World> {
  const world = new World(startMs);
  world.open({ lateRowsMs: 60 * minute, ...changes });
  await world.evaluator.upsert(alert);
  await world.evaluator.begin();
  return world;
}

test("a fire that late rows demand is told late, and one that they forbid is taken back once", async () => {
  const world = await correctingWorld({});
  fill(world, "q", "demanded", [1, 1, 1, 1, 1, 1]);
  world.put("q", { name: "demanded" }, startMs + 2 * minute, 9, startMs + 4 * minute);
  fill(world, "q", "open", [1, 1, 1, null, 9, 9, 9]);
  fill(world, "q", "forbidden", [1, 1, 1, 1, 9, 9, 9]);
  for (const at of [4, 5, 6]) {
    const late = startMs + 6 * minute + judged;
    world.put("q", { name: "forbidden" }, startMs + at * minute, 9);
    world.replace("q", { name: "forbidden" }, startMs + at * minute, 1, late);
  }
  await world.runUntil(startMs + 9 * minute);
  expect(world.told().sort()).toEqual([
    "fired demanded late",
    "fired forbidden",
    "fired open",
    "resolved demanded recovered late",
    "resolved forbidden corrected",
  ]);
  const corrected = world.evaluator.history("a").filter((each) => each.corrected === true);
  expect(corrected.map(({ labels, to }) => `${labels.name} ${to}`).sort()).toEqual([
    "demanded firing",
    "forbidden ok",
  ]);
  expect(world.evaluator.completenessOf("a")!.lateRows.judgedAgain).toBe(3);
});

test("a fire that went on in an earlier time ends with its own, where late rows part both again", async () => {
  const world = await correctingWorld({}, alertOf("a", "q", [ruleOf({ missing: "ignore" })]));
  fill(world, "q", "x", [1, 1, 1, 1, null, 9, 9, 9, 1, 1]);
  world.replace("q", { name: "x" }, startMs + 3 * minute, 9, startMs + 6 * minute + judged);
  world.put("q", { name: "x" }, startMs + 4 * minute, 1, startMs + 7 * minute + judged);
  await world.runUntil(startMs + 12 * minute);
  const times = world.evaluator
    .fires("a")
    .map(({ firedAtMs, resolvedAtMs }) => [firedAtMs, resolvedAtMs].map((ms) => (ms! - startMs) / minute));
  expect(times.sort(([a], [b]) => a! - b!)).toEqual([
    [4, 5],
    [6, 9],
  ]);
  expect(world.told().sort()).toEqual([
    "fired x",
    "fired x late",
    "resolved x recovered",
    "resolved x recovered late",
  ]);
});

test("a fire that is taken back and demanded again while no bucket ends is another one", async () => {
  const world = await correctingWorld({}, alertOf("a", "q", [ruleOf({})], 300));
  for (let i = 0; i < 6; i++) world.put("q", { name: "x" }, startMs + 5 * i * minute, 1);
  for (const [i, value] of [9, 1, 9].entries()) {
    await world.runUntil(startMs + (21 + i) * minute);
    world.put("q", { name: "x" }, startMs + 10 * minute, value, world.nowMs);
  }
  await world.runUntil(startMs + 29 * minute);
  const begun = world.messages().filter(({ event }) => event.type === "alertFired");
  expect(new Set(begun.map(({ event }) => event.fireId)).size).toBe(2);
  expect(world.told().sort()).toEqual([
    "fired x late",
    "fired x late",
    "resolved x recovered late",
    "resolved x recovered late",
  ]);
});

test("rows that come later than the bound are counted on the alert, and change nothing", async () => {
  const world = await correctingWorld({ lateRowsMs: 30_000 }, alertOf("a", "q", [ruleOf({ n: 4 })]));
  fill(world, "q", "x", Array<number>(12).fill(1));
  world.put("q", { name: "x" }, startMs + 2 * minute, 9, startMs + 5 * minute);
  world.put("q", { name: "x" }, startMs + 3 * minute, 9, startMs + 11 * minute);
  await world.runUntil(startMs + 12 * minute + judged);
  expect(world.told()).toEqual([]);
  expect(world.evaluator.completenessOf("a")!.lateRows).toEqual({
    judgedAgain: 0,
    tooLate: 1,
    beyondWindow: 1,
  });
  expect(world.metric("svc_alert_rows_beyond_window_total")).toBe(1);
});

test("an alert waits as long as it says, else as long as the server waits for the signal", async () => {
  const behind = async (seconds: number | undefined, signalDelaysMs: EvaluatorOptions["signalDelaysMs"]) => {
    const alert = alertOf("a", "q");
    if (seconds !== undefined) alert.timeseries.evaluationDelaySeconds = seconds;
    const world = await correctingWorld({ signalDelaysMs }, alert);
    await world.settle();
    const spread = world.evaluator.nextDueMs() % minute;
    expect(world.evaluator.completeThroughMs(alert)).toBeLessThanOrEqual(world.nowMs);
    return [world.nowMs - world.evaluator.completeThroughMs(alert), spread];
  };
  const [plain, spread] = await behind(undefined, {});
  expect(plain).toBe(30_000);
  expect(await behind(undefined, { logs: 90_000 })).toEqual([90_000, spread]);
  expect(await behind(0, { logs: 90_000 })).toEqual([0, spread! - 30_000]);
  expect(await behind(600, {})).toEqual([600_000, spread! - 30_000]);
});

test("a state that the version before stored is taken up, and its old buckets are not judged again", async () => {
  const world = await correctingWorld({});
  fill(world, "q", "x", [9, 9, 1, 1, 1, 9]);
  await world.runUntil(startMs + 2 * minute + judged);
  const strip = (rule: Record<string, unknown>) => {
    const { judgedFromMs: _, earlier: __, fires: ___, ...kept } = rule;
    return kept;
  };
  const [{ id, value }] = world.state.list("alert-states") as unknown as [{ id: string; value: never }];
  const { rules, instances, ...state } = value as {
    rules: Record<string, Record<string, unknown>>;
    instances: Record<string, { labels: unknown; rules: Record<string, Record<string, unknown>> }>;
  };
  const old = {
    ...state,
    rules: Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, strip(rule)])),
    instances: Object.fromEntries(
      Object.entries(instances).map(([key, { labels, rules: states }]) => [
        key,
        {
          labels,
          rules: Object.fromEntries(Object.entries(states).map(([name, one]) => [name, strip(one)])),
        },
      ]),
    ),
  };
  await world.state.write([{ table: "alert-states", id, value: old as never }]);
  world.replace("q", { name: "x" }, startMs + minute, 1, world.nowMs);
  world.open({ lateRowsMs: 60 * minute });
  await world.evaluator.upsert(alertOf("a", "q"));
  await world.evaluator.begin();
  await world.runUntil(startMs + 6 * minute + judged);
  expect(world.told()).toEqual(["fired x", "resolved x recovered", "fired x"]);
});
