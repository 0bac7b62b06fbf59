/** Many alerts over days of virtual time, with faults, deaths and late rows, against the slow model. */
import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import type { Alert } from "../../../server/alerts/alert.ts";
import { bucketMsOf } from "../../../server/alerts/alert.ts";
import { instanceKey } from "../../../server/alerts/alert-state.ts";
import type { Fire } from "../../../server/alerts/fire.ts";
import { byTime, naiveFires, type Told } from "./naive.ts";
import { alertOf, delayMs, ruleOf, World } from "./world.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const isSoak = process.env.SVC_SOAK === "1";
const minute = 60_000;
const hour = 60 * minute;
const startMs = Date.UTC(2026, 0, 10);
const days = isSoak ? 7 : 1;
const alertCount = isSoak ? 200 : 16;
const queryCount = isSoak ? 60 : 10;
/** Rows that are late come later than any evaluation of their bucket, however long that was held up. */
const lateByMs = 6 * hour;

/** A series that is quiet, in trouble or away, for stretches of random length. */
function fillSeries(world: World, random: Random, query: string, name: string, bucketMs: number): void {
  let mode = "quiet";
  for (let atMs = startMs - 20 * bucketMs; atMs < startMs + days * 24 * hour; atMs += bucketMs) {
    if (random.oneIn(mode === "away for long" ? 1_800 : 15)) {
      mode = random.pick([
        "quiet",
        "quiet",
        "trouble",
        "flaky",
        "away",
        random.oneIn(6) ? "away for long" : "quiet",
      ]);
    }
    if (mode.startsWith("away") || (mode === "flaky" && random.oneIn(2))) continue;
    const isHigh = mode === "trouble" || (mode === "flaky" && random.oneIn(2));
    const isLate = random.oneIn(60);
    const arrivedMs = atMs + bucketMs + (isLate ? lateByMs : random.below(delayMs));
    world.put(query, { name }, atMs, random.between(isHigh ? 6 : 0, isHigh ? 10 : 5), arrivedMs);
  }
}

function anyAlert(random: Random, id: string, query: string, bucketSeconds: number): Alert {
  const rules = Array.from({ length: random.between(1, 2) }, (_, i) => {
    const m = random.between(1, 4);
    const missing = random.pick(["notBreaching", "breaching", "ignore", "missing"] as const);
    return ruleOf({
      name: `rule ${i}`,
      above: random.between(4, 7),
      m,
      n: m + random.between(0, 3),
      missing,
    });
  });
  return alertOf(id, query, rules, bucketSeconds);
}

test(`days of alerts through faults and deaths are as the slow model has them (SVC_SEED=${seed})`, {
  timeout: 1_800_000,
}, async () => {
  const random = new Random(seed);
  const world = new World(startMs);
  const widths = new Map<string, number>();
  for (let i = 0; i < queryCount; i++) {
    const query = `query ${i}`;
    widths.set(query, random.pick([60, 60, 120, 300]));
    for (let j = random.between(1, 3); j > 0; j--)
      fillSeries(world, random, query, `s${j}`, widths.get(query)! * 1000);
  }
  const queries = [...widths.keys()];
  const alerts = Array.from({ length: alertCount }, (_, i) => {
    const query = random.pick(queries);
    return anyAlert(random, `alert ${i}`, query, widths.get(query)!);
  });
  for (const alert of alerts) await world.evaluator.upsert(alert);
  await world.evaluator.begin();
  await world.settle();
  const firstMs = new Map(
    alerts.map(({ metadata: { id } }) => [id, world.evaluator.stateOf(id)!.details.throughMs!]),
  );
  const { deaths } = await live(world, alerts, random, queries);
  world.failing.clear();
  await world.runUntil(world.nowMs + 10 * minute);
  const { gaps } = world.state.get("alert-clock", "alive") as unknown as { gaps: [number, number][] };
  expect(gaps.length).toBeLessThanOrEqual(deaths);
  let fireCount = 0;
  for (const alert of alerts) {
    const { id } = alert.metadata;
    const bucketMs = bucketMsOf(alert);
    const isLost = (ms: number) => gaps.some(([from, to]) => from < ms + bucketMs && to > ms);
    const details = world.evaluator.stateOf(id)!.details;
    const expected: Told[] = [];
    for (const series of world.series.get(alert.timeseries.expression.svcQLTimeseries.query)!) {
      const { labels, points } = series;
      const valueAt = (atMs: number) => {
        const point = points.get(atMs);
        return point !== undefined && point.arrivedMs < atMs + bucketMs + lateByMs ? point.value : null;
      };
      const { fires, states } = naiveFires(
        alert,
        { labels, valueAt },
        firstMs.get(id)!,
        details.throughMs!,
        isLost,
      );
      expected.push(...fires);
      const rules = details.instances[instanceKey(series.labels)]?.rules ?? {};
      expect(Object.fromEntries(Object.entries(rules).map(([rule, { state }]) => [rule, state])), id).toEqual(
        Object.fromEntries([...states].map(([rule, { state }]) => [rule, state])),
      );
    }
    const fires = world.evaluator.fires(id);
    const got = fires.map(({ rule, labels, firedAtMs, resolvedAtMs, reason }) => ({
      rule,
      instance: instanceKey(labels),
      firedAtMs,
      resolvedAtMs,
      reason,
    }));
    expect(got.sort(byTime), JSON.stringify(alert)).toEqual(expected.sort(byTime));
    checkTold(world, fires);
    fireCount += fires.length;
  }
  expect(fireCount).toBeGreaterThan(alertCount);
});

/** Lives through the days: queries fail for a while, writes fail, the process dies in the middle of a write and comes back later. */
async function live(world: World, alerts: readonly Alert[], random: Random, queries: readonly string[]) {
  let deaths = 0;
  const endMs = startMs + (days * 24 - 7) * hour;
  while (world.nowMs < endMs) {
    const what = random.below(10);
    if (what < 4) world.failing.add(random.pick(queries));
    else if (what < 8) world.failing.clear();
    else world.state.nextWrite = random.pick(["refused", "dies before", "dies after"] as const);
    const died = world.state.died.then(() => "died" as const);
    const lived = world.runUntil(world.nowMs + random.between(1, 40) * minute).then(() => "lived" as const);
    if ((await Promise.race([died, lived])) === "lived") continue;
    deaths++;
    world.failing.clear();
    world.nowMs += random.pick([3_000, 90_000, 20 * minute, 90 * minute]);
    world.state.restart();
    const evaluator = world.open();
    for (const alert of alerts) await evaluator.upsert(alert);
    await evaluator.begin();
    await world.runUntil(world.nowMs + minute);
  }
  return { deaths };
}

/** Every fire was told once, and its end once; what opened and closed unseen was not told. */
function checkTold(world: World, fires: readonly Fire[]): void {
  const told = new Map<string, string[]>();
  for (const { event } of world.messages()) {
    const types = told.get(event.fireId) ?? [];
    told.set(event.fireId, types);
    types.push(event.type);
  }
  for (const fire of fires) {
    const types = told.get(fire.id) ?? [];
    if (fire.told === "unseen") expect(types, JSON.stringify(fire)).toEqual([]);
    else
      expect(types, JSON.stringify(fire)).toEqual(
        fire.resolvedAtMs === null ? ["alertFired"] : ["alertFired", "alertResolved"],
      );
  }
}
