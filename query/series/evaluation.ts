import { isSetOperator } from "../plan/arithmetic.ts";
import type { Calculation, Constant, SeriesPlan } from "../plan/series-plan.ts";
import { QueryError } from "../text/query-error.ts";
import { countBuckets, type TimeBuckets } from "../time/buckets.ts";
import { AmbiguousMatchError, combineNumber, combineSeries, negateSeries } from "./binary-operation.ts";
import { fillWithNumber, fillWithSeries, makeConstantSeries } from "./default-fill.ts";
import { foldSeries } from "./fold.ts";
import { computeHistogramQuantiles } from "./histogram-quantile.ts";
import { selectTopSeries } from "./ranking.ts";
import type { ScanReader } from "./scan-reader.ts";
import type { SeriesSet } from "./series-set.ts";
import { applySetOperator } from "./set-operation.ts";

export interface EvaluationContext {
  /** svcQL, for the places of errors. */
  query: string;
  buckets: TimeBuckets;
  reader: ScanReader;
}

/** The series of a plan. Throws a QueryError where series do not match, and what the store throws. */
export async function evaluateSeries(plan: SeriesPlan, evaluation: EvaluationContext): Promise<SeriesSet> {
  switch (plan.kind) {
    case "scan":
      return evaluation.reader.readSeries(plan);
    case "top": {
      const ranked = await evaluation.reader.readTopSeries(plan);
      return ranked ?? selectTopSeries(plan, await evaluateSeries(plan.of, evaluation));
    }
    case "fold":
      return foldSeries(plan, await evaluateSeries(plan.of, evaluation));
    case "histogramQuantile":
      return computeHistogramQuantiles(plan.q, await evaluateSeries(plan.of, evaluation));
    case "negation":
      return negateSeries(await evaluateSeries(plan.of, evaluation));
    case "calculation":
      return evaluateCalculation(plan, evaluation);
  }
}

async function evaluateCalculation(plan: Calculation, evaluation: EvaluationContext): Promise<SeriesSet> {
  const [left, right] = await Promise.all([
    evaluateOperand(plan.left, evaluation),
    evaluateOperand(plan.right, evaluation),
  ]);
  try {
    return applyOperator(plan, left, right, evaluation);
  } catch (error) {
    if (!(error instanceof AmbiguousMatchError)) throw error;
    throw new QueryError(error.message, { text: evaluation.query, span: plan.at });
  }
}

async function evaluateOperand(
  side: SeriesPlan | Constant,
  evaluation: EvaluationContext,
): Promise<SeriesSet | number> {
  return side.kind === "number" ? side.value : evaluateSeries(side, evaluation);
}

function applyOperator(
  plan: Calculation,
  left: SeriesSet | number,
  right: SeriesSet | number,
  { buckets }: EvaluationContext,
): SeriesSet {
  const { op, matching } = plan;
  if (typeof left === "number") return combineNumber(plan, right as SeriesSet, left, "left");
  if (op === "default") {
    if (typeof right !== "number") return fillWithSeries(plan, left, right);
    const isNone = left.order.length === 0 && plan.isLeftUnlabelled;
    if (isNone) return makeConstantSeries(right, countBuckets(buckets));
    return fillWithNumber(left, right, countBuckets(buckets));
  }
  if (typeof right === "number") return combineNumber(plan, left, right, "right");
  return isSetOperator(op) ? applySetOperator(op, matching, left, right) : combineSeries(plan, left, right);
}
