import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isBreaching } from "../../../server/alerts/state/alert-definition.ts";
import { verdictOf } from "../../../server/alerts/state/verdict.ts";
import type { MissingDatapointBehavior, Operator, StaticRule } from "../../../server/model/alert.ts";
import { naiveState, windowOf } from "./naive.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

interface Cells {
  cases: {
    datapointsToAlarm: number;
    datapointsInEvaluationWindow: number;
    points: string;
    expected: Record<MissingDatapointBehavior, "ALARM" | "OK" | "INSUFFICIENT_DATA" | "RETAIN">;
  }[];
}

const states = { ALARM: "firing", OK: "ok", INSUFFICIENT_DATA: "noData", RETAIN: "keep" } as const;
const values: Record<string, number | null> = { "0": 0, X: 10, "-": null };
const behaviours = ["notBreaching", "breaching", "ignore", "missing"] as const;

function ruleOf(m: number, n: number, missingDatapointBehavior: MissingDatapointBehavior): StaticRule {
  return {
    operators: [{ operator: "greaterThan", threshold: 5 }],
    persistenceSettings: { datapointsToAlarm: m, datapointsInEvaluationWindow: n, missingDatapointBehavior },
  };
}

describe("the published cells", () => {
  const path = join(import.meta.dirname, "cases", "missing-datapoints.json");
  const { cases } = JSON.parse(readFileSync(path, "utf8")) as Cells;
  const cells = cases.flatMap(({ datapointsToAlarm: m, datapointsInEvaluationWindow: n, points, expected }) =>
    behaviours.map((behaviour) => ({ m, n, points, behaviour, expected: states[expected[behaviour]] })),
  );
  test("are forty", () => expect(cells).toHaveLength(40));
  test.each(cells)("$points $m/$n $behaviour is $expected", ({ m, n, points, behaviour, expected }) => {
    const verdict = verdictOf(
      [...points].map((point) => values[point]!),
      ruleOf(m, n, behaviour),
    );
    expect(verdict.state, verdict.why).toBe(expected);
  });
});

describe(`laws of the window (SVC_SEED=${seed})`, () => {
  const anyCells = fc.array(fc.option(fc.integer({ min: 0, max: 10 }), { freq: 3 }), { maxLength: 14 });
  const anyRule = fc
    .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 4 }), fc.constantFrom(...behaviours))
    .map(([m, more, behaviour]) => ruleOf(m, m + more, behaviour));

  test("verdicts are those of the slow model", () => {
    fc.assert(
      fc.property(anyCells, anyRule, (cells, rule) => {
        const window = windowOf({ name: "r", static: rule });
        expect(verdictOf(cells, rule).state).toBe(naiveState(cells, window, "keep"));
      }),
      { seed, numRuns: 3_000 },
    );
  });

  test("what is older than the newest N + 2 buckets changes nothing", () => {
    fc.assert(
      fc.property(anyCells, anyCells, anyRule, (old, cells, rule) => {
        const range = rule.persistenceSettings.datapointsInEvaluationWindow + 2;
        fc.pre(cells.length >= range);
        expect(verdictOf([...old, ...cells], rule)).toEqual(verdictOf(cells, rule));
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test("only the newest N points count where there are so many", () => {
    fc.assert(
      fc.property(anyCells, anyRule, fc.integer({ min: 0, max: 10 }), (cells, rule, other) => {
        const { datapointsInEvaluationWindow: n } = rule.persistenceSettings;
        const range = cells.slice(-(n + 2));
        fc.pre(range.filter((value) => value !== null).length > n);
        const oldest = range.findIndex((value) => value !== null);
        expect(verdictOf(range.with(oldest, other), rule)).toEqual(verdictOf(range, rule));
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test("a zero is a point: with N of them nothing is missing", () => {
    for (const behaviour of behaviours) {
      expect(verdictOf([null, null, 0, 0, 0], ruleOf(1, 3, behaviour)).state).toBe("ok");
      const below: StaticRule = {
        ...ruleOf(3, 3, behaviour),
        operators: [{ operator: "lessThan", threshold: 1 }],
      };
      expect(verdictOf([null, null, 0, 0, 0], below).state).toBe("firing");
    }
  });
});

test("every operator, and several together", () => {
  const rule = (...operators: [Operator, number][]): StaticRule => ({
    ...ruleOf(1, 1, "missing"),
    operators: operators.map(([operator, threshold]) => ({ operator, threshold })),
  });
  const at5 = [4, 5, 6];
  const breachesAt5 = (operator: Operator) => at5.filter((value) => isBreaching(value, rule([operator, 5])));
  expect(breachesAt5("greaterThan")).toEqual([6]);
  expect(breachesAt5("greaterThanOrEqual")).toEqual([5, 6]);
  expect(breachesAt5("lessThan")).toEqual([4]);
  expect(breachesAt5("lessThanOrEqual")).toEqual([4, 5]);
  expect(breachesAt5("equals")).toEqual([5]);
  expect(breachesAt5("notEquals")).toEqual([4, 6]);
  const between = rule(["greaterThan", 4], ["lessThan", 6]);
  expect(at5.filter((value) => isBreaching(value, between))).toEqual([5]);
});
