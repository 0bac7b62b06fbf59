/** Alerts judged the slow way: every bucket from the whole of the past, one plain rule after the other. */
import type { EvaluationRule, MissingDatapointBehavior } from "../../../server/alerts/alert.ts";

export type Cell = number | null;

export interface Window {
  m: number;
  n: number;
  behaviour: MissingDatapointBehavior;
  isBreach: (value: number) => boolean;
}

export function windowOf(rule: EvaluationRule): Window {
  const { datapointsToAlarm: m, datapointsInEvaluationWindow: n } = rule.static.persistenceSettings;
  const behaviour = rule.static.persistenceSettings.missingDatapointBehavior ?? "notBreaching";
  const tests = rule.static.operators.map(({ operator, threshold }) => (value: number) => {
    const sign = Math.sign(value - threshold);
    const wanted = {
      greaterThan: [1],
      greaterThanOrEqual: [0, 1],
      lessThan: [-1],
      lessThanOrEqual: [-1, 0],
      equals: [0],
      notEquals: [-1, 1],
    }[operator];
    return wanted.includes(sign);
  });
  return { m, n, behaviour, isBreach: (value) => tests.every((test) => test(value)) };
}

/** The state after the last cell; `before` is what "keep" keeps. */
export function naiveState(cells: readonly Cell[], window: Window, before: string): string {
  const { m, n, behaviour, isBreach } = window;
  const range = cells.slice(Math.max(0, cells.length - n - 2));
  if (range.length === 0) return before;
  const real = range.map((value, i) => ({ value, i })).filter(({ value }) => value !== null);
  const counted = real.slice(Math.max(0, real.length - n));
  const breaching = counted.filter(({ value }) => isBreach(value!)).length;
  if (counted.length === 0) {
    return { missing: "noData", ignore: before, breaching: "firing", notBreaching: "ok" }[behaviour];
  }
  // Fewer points than the window has: what is missing takes the place of points.
  const absent = Math.max(0, Math.min(n, range.length) - counted.length);
  if (breaching + (behaviour === "breaching" ? absent : 0) >= m) return "firing";
  if (behaviour === "breaching" || behaviour === "notBreaching") return "ok";
  if (counted.some(({ value }) => !isBreach(value!))) return "ok";
  if (behaviour === "ignore") return before;
  const positionsBack = range.length - counted[0]!.i;
  return positionsBack >= m ? "firing" : before;
}
