/** What rows that are missing from a bucket can do to the values of a query: derived from its plan. */

import {
  type Constant,
  isOrderedStep,
  type RowScan,
  reachOf,
  type SampleScan,
  type Scan,
  type SeriesPlan,
  type TimeseriesPlan,
} from "../../../query/index.ts";
import type { MissingEffect } from "../state/missing-rows.ts";

export interface PlanEffect {
  /** In the bucket in which rows are missing. */
  effect: MissingEffect;
  /**
   * The query reads increases of counters: the increase over a gap counts in the bucket of the first sample after it.
   * So that bucket may change in any way, and every other one that begins within the gap.
   */
  spillsOver: boolean;
  /** The longest window before the end of a bucket that the query looks at; 0 where that is the bucket. */
  windowMs: number;
  /** The greatest offset of the query. */
  offsetMs: number;
}

/** How series move as rows are added. `isCount`: no value is less than 0, so that a new series only adds. */
interface Movement {
  effect: MissingEffect;
  isCount: boolean;
}

type FoldPlan = Extract<SeriesPlan, { kind: "fold" }>;
type CalculationPlan = Extract<SeriesPlan, { kind: "calculation" }>;

const anyChange: Movement = { effect: "change", isCount: false };
const growingCount: Movement = { effect: "raise", isCount: true };

export function planEffect({ series, scans }: TimeseriesPlan): PlanEffect {
  const spillsOver = scans.some((scan) => scan.kind === "samples");
  return {
    effect: movementOf(series, scans).effect,
    spillsOver,
    windowMs: Math.max(0, ...scans.map(windowMsOf)),
    offsetMs: Math.max(0, ...scans.map(({ offsetSeconds = 0 }) => Math.round(offsetSeconds * 1000))),
  };
}

/** What a scan reads before the end of a bucket; with what its rows look back at. */
function windowMsOf(scan: Scan): number {
  const windowMs = Math.round((scan.windowSeconds ?? 0) * 1000);
  const backMs = scan.kind === "rows" ? Math.ceil(reachOf(scan.steps).back / 1e6) : 0;
  return backMs === 0 || !Number.isFinite(backMs) ? windowMs : windowMs + backMs;
}

function movementOf(plan: SeriesPlan, scans: readonly Scan[]): Movement {
  switch (plan.kind) {
    case "scan": {
      const scan = scans[plan.scan]!;
      return scan.kind === "rows" ? rowMovement(scan, plan.aggregate) : sampleMovement(scan);
    }
    case "fold":
      return foldMovement(plan, scans);
    case "negation": {
      const { effect } = movementOf(plan.of, scans);
      return { effect: opposite(effect), isCount: false };
    }
    case "calculation":
      return calculationMovement(plan, scans);
    case "relabel":
    case "sort":
      return movementOf(plan.of, scans);
    // Of these functions none falls where its argument rises. Rounding and least values may lift a count above 0.
    case "map":
      return plan.fn.op === "abs" ? anyChange : { effect: movementOf(plan.of, scans).effect, isCount: false };
    // More rows may change which series are listed, and a quantile in any way. They end a gap.
    case "window":
    case "absent":
    case "top":
    case "histogramQuantile":
      return anyChange;
  }
}

function rowMovement({ aggregates, steps }: RowScan, place: number): Movement {
  // A row may begin a sequence, or stand in between.
  if (steps.some(isOrderedStep)) return anyChange;
  const { op } = aggregates[place]!;
  if (op === "count" || op === "distinct") return growingCount;
  if (op === "max") return { effect: "raise", isCount: false };
  return op === "min" ? { effect: "lower", isCount: false } : anyChange;
}

/** Samples of a metric whose type the plan does not know may be of a gauge, which moves in any way. */
function sampleMovement({ of, aggregate: { op } }: SampleScan): Movement {
  if (op === "count" || op === "distinct") return growingCount;
  return of === "increase" && (op === "sum" || op === "max") ? growingCount : anyChange;
}

/** New series may come to a fold, besides those that move. */
function foldMovement({ fold: { op }, of }: FoldPlan, scans: readonly Scan[]): Movement {
  if (op === "count" || op === "distinct") return onlyGainsSeries(of, scans) ? growingCount : anyChange;
  const inner = movementOf(of, scans);
  if (op === "sum") return inner.effect === "raise" && inner.isCount ? growingCount : anyChange;
  if (op === "max" && inner.effect === "raise") return inner;
  return op === "min" && inner.effect === "lower" ? { effect: "lower", isCount: false } : anyChange;
}

/** Whether more rows let no series lose its point, however the points move. A comparison or `unless` may drop one. */
function onlyGainsSeries(plan: SeriesPlan, scans: readonly Scan[]): boolean {
  switch (plan.kind) {
    case "scan": {
      const scan = scans[plan.scan]!;
      return scan.kind === "samples" || !scan.steps.some(isOrderedStep);
    }
    case "window":
      return true;
    case "fold":
    case "negation":
    case "map":
    case "relabel":
    case "sort":
      return onlyGainsSeries(plan.of, scans);
    case "calculation": {
      const { op, bool, left, right } = plan;
      const givesAllPoints = bool || op === "+" || op === "-" || op === "*";
      // A series that comes to one side may let those of the other side match no more.
      if (!givesAllPoints || (left.kind !== "number" && right.kind !== "number")) return false;
      return [left, right].every((side) => side.kind === "number" || onlyGainsSeries(side, scans));
    }
    case "absent":
    case "top":
    case "histogramQuantile":
      return false;
  }
}

function calculationMovement({ op, left, right }: CalculationPlan, scans: readonly Scan[]): Movement {
  if (right.kind === "number" && left.kind !== "number") {
    return scaledMovement(op, movementOf(left, scans), right);
  }
  if (left.kind === "number" && right.kind !== "number") {
    const inner = movementOf(right, scans);
    if (op === "+" || op === "*") return scaledMovement(op, inner, left);
    return op === "-" ? { effect: opposite(inner.effect), isCount: false } : anyChange;
  }
  const [a, b] = [left, right].map((side) => movementOf(side as SeriesPlan, scans)) as [Movement, Movement];
  const isSame = a.effect === b.effect && a.effect !== "change";
  if (op === "+" && isSame) return { effect: a.effect, isCount: a.isCount && b.isCount };
  if (op === "*" && isSame && a.isCount && b.isCount) return growingCount;
  return op === "-" && a.effect === opposite(b.effect) && a.effect !== "change"
    ? { effect: a.effect, isCount: false }
    : anyChange;
}

/** Of an operator between series and a number on the right; `+` and `*` are the same with the number on the left. */
function scaledMovement(op: string, inner: Movement, { value }: Constant): Movement {
  const { effect, isCount } = inner;
  switch (op) {
    case "+":
      return { effect, isCount: isCount && value >= 0 };
    case "-":
      return { effect, isCount: isCount && value <= 0 };
    case "*":
    case "/":
      if (value > 0) return inner;
      return value < 0 ? { effect: opposite(effect), isCount: false } : anyChange;
    // A count takes the place of 0, which it is not less than.
    case "default":
      return effect === "raise" && isCount && value === 0 ? inner : anyChange;
    default:
      return anyChange;
  }
}

function opposite(effect: MissingEffect): MissingEffect {
  if (effect === "change") return effect;
  return effect === "raise" ? "lower" : "raise";
}
