/** Alerts judged the slow way: every bucket from the whole of the past, one plain rule after the other. */
import type { AlertDefinition } from "../../../server/alerts/state/alert-definition.ts";
import type { EvaluationRule, MissingDatapointBehavior } from "../../../server/model/alert.ts";

export type Cell = number | null;

/** A bucket that may lack rows: what it holds, and what it may become by more rows. */
export interface OpenCell {
  value: Cell;
  /** How more rows move it. */
  moves: "rises" | "falls" | "moves";
}

export interface Window {
  m: number;
  n: number;
  behaviour: MissingDatapointBehavior;
  isBreach: (value: number) => boolean;
}

export function windowOf(rule: EvaluationRule): Window & { thresholds: readonly number[] } {
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
  const thresholds = rule.static.operators.map(({ threshold }) => threshold);
  return { m, n, behaviour, thresholds, isBreach: (value) => tests.every((test) => test(value)) };
}

/**
 * The state after the last cell, some of which may lack rows: what all that they may become leads to, else what was
 * before. Goes through all of it.
 */
export function naiveOpenState(
  cells: readonly (Cell | OpenCell)[],
  window: Window & { thresholds: readonly number[] },
  before: string,
): string {
  const range = cells.slice(Math.max(0, cells.length - window.n - 2));
  const choices = range.map((cell) =>
    cell === null || typeof cell === "number" ? [cell] : possibleCells(cell, window),
  );
  const kinds = choices.map((all) =>
    all.map((cell) => (cell === null ? "missing" : window.isBreach(cell) ? "breach" : "sound")).join("|"),
  );
  const { m, n, behaviour } = window;
  const key = JSON.stringify([kinds, m, n, behaviour, before]);
  const known = openStates.get(key);
  if (known !== undefined) return known;
  const lots: Cell[][] = [[]];
  for (const all of choices) {
    for (const lot of lots.splice(0)) for (const cell of all) lots.push([...lot, cell]);
  }
  // "Keep" is told from a verdict by asking twice.
  const verdicts = new Set(
    lots.map((lot) => `${naiveState(lot, window, "one")} ${naiveState(lot, window, "two")}`),
  );
  const [only] = verdicts;
  const state = verdicts.size === 1 && only !== "one two" ? only!.split(" ")[0]! : before;
  openStates.set(key, state);
  return state;
}

const openStates = new Map<string, string>();

/** A cell of each kind that it may become: missing, breaching, sound. */
function possibleCells(
  { value, moves }: OpenCell,
  { isBreach, thresholds }: Window & { thresholds: readonly number[] },
): Cell[] {
  const near = thresholds.flatMap((each) => [each - 1, each - 0.25, each, each + 0.25, each + 1]);
  const values = [-1e9, ...near, 1e9, ...(value === null ? [] : [value])].filter(
    (each) => value === null || moves === "moves" || (moves === "rises" ? each >= value : each <= value),
  );
  const one = (isWanted: boolean) => values.filter((each) => isBreach(each) === isWanted).slice(0, 1);
  return [...(value === null ? [null] : []), ...one(true), ...one(false)];
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
  let cells: (Cell | OpenCell)[] = [];
  let lastDataMs: number | null = null;
  for (let atMs = firstMs - window * bucketMs; atMs < endMs; atMs += bucketMs) {
    const value = series.valueAt(atMs);
    cells.push(isLost(atMs) ? { value, moves: "moves" } : value);
    if (value !== null) lastDataMs = atMs + bucketMs;
    if (atMs < firstMs - bucketMs || lastDataMs === null) continue;
    for (const rule of alert.timeseries.evaluationRules) {
      const before = states.get(rule.name) ?? { state: "noData", fire: null };
      const state = naiveOpenState(cells, windowOf(rule), before.state);
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
    if (isLost(atMs) || atMs + bucketMs - lastDataMs < 24 * hour) continue;
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
