/** Alerts judged the slow way: every bucket from the whole of the past, one plain rule after the other. */
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";
import type { EvaluationRule, MissingDatapointBehavior } from "../../../server/model/alert.ts";

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

const hour = 3_600_000;

export interface NaiveSeries {
  labels: Record<string, string>;
  /** The point of a bucket that came in time. */
  valueAt: (bucketMs: number) => Cell;
}

export interface Told {
  rule: string;
  instance: string;
  firedAtMs: number;
  resolvedAtMs: number | null;
  reason: string | null;
}

/** What should have happened to one instance, from the points that came in time. */
export function naiveFires(
  alert: AlertDefinition,
  series: NaiveSeries,
  firstMs: number,
  endMs: number,
  isLost: (ms: number) => boolean,
) {
  const bucketMs = alert.timeseries.expression.svcQLTimeseries.bucketSize * 1000;
  const window = Math.max(...alert.timeseries.evaluationRules.map((rule) => windowOf(rule).n)) + 2;
  const fires: Told[] = [];
  const states = new Map<string, { state: string; fire: Told | null }>();
  let cells: (number | null)[] = [];
  let lastDataMs: number | null = null;
  for (let atMs = firstMs - window * bucketMs; atMs < endMs; atMs += bucketMs) {
    if (isLost(atMs)) continue;
    const value = series.valueAt(atMs);
    cells.push(value);
    if (value !== null) lastDataMs = atMs + bucketMs;
    if (atMs < firstMs - bucketMs || lastDataMs === null) continue;
    for (const rule of alert.timeseries.evaluationRules) {
      const before = states.get(rule.name) ?? { state: "noData", fire: null };
      const state = naiveState(cells, windowOf(rule), before.state);
      let { fire } = before;
      if (state === "firing" && fire === null) {
        fire = {
          rule: rule.name,
          instance: JSON.stringify(series.labels),
          firedAtMs: atMs + bucketMs,
          resolvedAtMs: null,
          reason: null,
        };
        fires.push(fire);
      } else if (state === "ok" && fire !== null) {
        Object.assign(fire, { resolvedAtMs: atMs + bucketMs, reason: "recovered" });
        fire = null;
      }
      states.set(rule.name, { state, fire });
    }
    if (atMs + bucketMs - lastDataMs < 24 * hour) continue;
    for (const { fire } of states.values())
      if (fire) Object.assign(fire, { resolvedAtMs: atMs + bucketMs, reason: "gone" });
    states.clear();
    lastDataMs = null;
    cells = cells.map(() => null);
  }
  return { fires, states };
}

/** An order to compare lists in. */
export const byTime = (a: Told, b: Told) =>
  a.firedAtMs - b.firedAtMs || (a.instance + a.rule < b.instance + b.rule ? -1 : 1);
