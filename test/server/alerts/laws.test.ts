/** Laws of evaluation over random timelines. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";
import { windowBuckets } from "../../../server/alerts/state/alert-definition.ts";
import { runDry } from "../../../server/alerts/state/dry-run.ts";
import type { Transition } from "../../../server/alerts/state/judgement.ts";
import type { ReadSeries } from "../../../server/alerts/state/read-series.ts";
import type { EvaluationRule } from "../../../server/model/alert.ts";
import { alertOf, delayMs, ruleOf, World } from "./world.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const minute = 60_000;
const startMs = Date.UTC(2026, 0, 10);

type Cells = (number | null)[];

const anyCells = fc.array(fc.option(fc.integer({ min: 0, max: 10 }), { freq: 3 }), {
  minLength: 1,
  maxLength: 30,
});
const anyRule: fc.Arbitrary<EvaluationRule> = fc
  .record({
    m: fc.integer({ min: 1, max: 4 }),
    more: fc.integer({ min: 0, max: 3 }),
    missing: fc.constantFrom("notBreaching", "breaching", "ignore", "missing"),
    above: fc.integer({ min: 2, max: 8 }),
  })
  .map(({ m, more, missing, above }) => ruleOf({ m, n: m + more, missing, above }));

function seriesOf(name: string, cells: Cells, fromMs: number): ReadSeries {
  const points = cells.flatMap((value, i): [number, number][] =>
    value === null ? [] : [[fromMs + i * minute, value]],
  );
  return { labels: { name }, points };
}

/** All transitions of the buckets from `fromMs` on. */
async function transitionsOf(
  alert: AlertDefinition,
  series: readonly ReadSeries[],
  fromMs: number,
  toMs: number,
): Promise<Transition[]> {
  const read = async (from: number, to: number) =>
    series.flatMap(({ labels, points }) => {
      const seen = points.filter(([ms]) => ms >= from && ms < to);
      return seen.length === 0 ? [] : [{ labels, points: seen }];
    });
  return (await runDry(alert, { fromMs, toMs, unlabelled: false }, read)).transitions;
}

const essence = ({ rule, labels, from, to, atMs, decided, why }: Transition, shiftMs = 0) => ({
  ...{ rule, labels, from, to, why, atMs: atMs - shiftMs },
  decided: { ...decided, bucketMs: decided.bucketMs - shiftMs },
});

describe(`laws (SVC_SEED=${seed})`, () => {
  test("shifting a timeline in time shifts its transitions", async () => {
    await fc.assert(
      fc.asyncProperty(anyCells, anyRule, fc.integer({ min: 1, max: 100_000 }), async (cells, rule, by) => {
        const alert = alertOf("a", "q", [rule]);
        const endMs = startMs + cells.length * minute;
        const there = await transitionsOf(alert, [seriesOf("x", cells, startMs)], startMs, endMs);
        const shiftMs = by * minute;
        const shifted = await transitionsOf(
          alert,
          [seriesOf("x", cells, startMs + shiftMs)],
          startMs + shiftMs,
          endMs + shiftMs,
        );
        expect(shifted.map((each) => essence(each, shiftMs))).toEqual(there.map((each) => essence(each)));
      }),
      { seed, numRuns: 300 },
    );
  });

  test("older points change nothing once the window has passed, where no state is kept from before", async () => {
    const deciding = anyRule.filter(({ static: rule }) => {
      return (
        rule.persistenceSettings.missingDatapointBehavior !== "ignore" &&
        rule.persistenceSettings.missingDatapointBehavior !== "missing"
      );
    });
    await fc.assert(
      fc.asyncProperty(anyCells, anyCells, deciding, async (old, cells, rule) => {
        const alert = alertOf("a", "q", [rule]);
        const endMs = startMs + cells.length * minute;
        const passedMs = startMs + windowBuckets(alert) * minute;
        const whole = seriesOf("x", [...old, ...cells], startMs - old.length * minute);
        const states = async (series: ReadSeries, fromMs: number) => {
          const all = await transitionsOf(alert, [series], fromMs, endMs);
          return all
            .filter(({ atMs, from }) => atMs > passedMs && from !== null)
            .map(({ to, atMs }) => [to, atMs]);
        };
        const short = await states(seriesOf("x", cells, startMs), startMs);
        const long = await states(whole, startMs - old.length * minute);
        // An instance that first came after the window has no state before.
        fc.pre(cells.slice(0, windowBuckets(alert)).some((value) => value !== null));
        expect(long).toEqual(short);
      }),
      { seed, numRuns: 300 },
    );
  });

  test("another series changes no other instance", async () => {
    await fc.assert(
      fc.asyncProperty(anyCells, anyCells, anyRule, async (cells, others, rule) => {
        const alert = alertOf("a", "q", [rule]);
        const endMs = startMs + 30 * minute;
        const one = seriesOf("x", cells, startMs);
        const alone = await transitionsOf(alert, [one], startMs, endMs);
        const both = await transitionsOf(alert, [seriesOf("y", others, startMs), one], startMs, endMs);
        expect(both.filter(({ labels }) => labels.name === "x")).toEqual(alone);
      }),
      { seed, numRuns: 300 },
    );
  });

  test("another rule changes no other rule", async () => {
    await fc.assert(
      fc.asyncProperty(anyCells, anyRule, anyRule, async (cells, rule, other) => {
        const endMs = startMs + cells.length * minute;
        const of = async (rules: EvaluationRule[]) => {
          const all = await transitionsOf(
            alertOf("a", "q", rules),
            [seriesOf("x", cells, startMs)],
            startMs,
            endMs,
          );
          return all.filter(({ rule: name }) => name === "high").map((each) => essence(each));
        };
        expect(await of([{ ...other, name: "other" }, rule])).toEqual(await of([rule]));
      }),
      { seed, numRuns: 300 },
    );
  });

  test("a replay gives the transitions that live evaluation gave when no row came later than the delay", async () => {
    await fc.assert(
      fc.asyncProperty(anyCells, anyCells, anyRule, fc.nat(delayMs), async (a, b, rule, behindMs) => {
        const alert = alertOf("a", "q", [rule]);
        const world = new World(startMs + delayMs + 16_000);
        for (const [name, cells] of Object.entries({ a, b })) {
          for (const [ms, value] of seriesOf(name, cells, startMs).points) {
            world.put("q", { name }, ms, value, ms + minute + behindMs);
          }
        }
        await world.evaluator.upsert(alert);
        await world.evaluator.begin();
        await world.settle();
        await world.runUntil(startMs + 32 * minute);
        const { throughMs } = world.evaluator.stateOf("a")!.details;
        const series = [seriesOf("a", a, startMs), seriesOf("b", b, startMs)];
        const replayed = await transitionsOf(alert, series, startMs - minute, throughMs!);
        const live = world.evaluator.history("a").toReversed();
        expect(live.map((each) => essence(each))).toEqual(replayed.map((each) => essence(each)));
      }),
      { seed, numRuns: 60 },
    );
  });
});

/** What is told of a rule and of an alert with the same query: while late rows come, after a start, and after an edit. */
async function toldOfRule(name: string): Promise<unknown[]> {
  const world = new World(startMs);
  const start = async (odd: EvaluationRule) => {
    world.open({ lateRowsMs: 60 * minute });
    for (const alert of [alertOf("a", "q", [odd, ruleOf()]), alertOf("b", "q")])
      await world.evaluator.upsert(alert);
    await world.evaluator.begin();
  };
  const rule = ruleOf({ name, above: 3 });
  await start(rule);
  for (const [i, value] of [1, 9, 9, 1, 1, 1, 1, 1, 4, 9, 9, 9].entries()) {
    world.put("q", { name: "x" }, startMs + i * minute, value);
  }
  world.replace("q", { name: "x" }, startMs + 4 * minute, 9, startMs + 7 * minute);
  await world.runUntil(startMs + 9 * minute + 50_000);
  await start(rule);
  await world.runUntil(startMs + 11 * minute);
  await world.evaluator.upsert(alertOf("a", "q", [ruleOf({ name, above: 8 }), ruleOf()]));
  await world.runUntil(startMs + 12 * minute);
  world.nowMs += 1;
  await world.evaluator.upsert(alertOf("a", "q"));
  await world.runUntil(startMs + 14 * minute);
  const told = world.messages().map(({ event }) => {
    const { type, alertId, firedAtMs, reason = "", late } = event;
    return `${alertId} ${event.rule === name ? "odd" : event.rule} ${type} ${firedAtMs - startMs} ${reason} ${late}`;
  });
  const failed = ["a", "b"].map((id) => world.evaluator.summaryOf(id)!.error);
  return [...told.sort(), ...failed, ...world.logged];
}

test.each(["constructor", "toString", "valueOf", "__proto__"])("a rule may be called %s", async (name) => {
  const told = await toldOfRule("plain");
  expect(told.length).toBeGreaterThan(12);
  expect(await toldOfRule(name)).toEqual(told);
});
