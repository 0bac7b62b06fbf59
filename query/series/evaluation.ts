import { isSetOperator } from "../plan/arithmetic.ts";
import type { Calculation, Constant, SeriesPlan } from "../plan/series-plan.ts";
import { QueryError } from "../text/query-error.ts";
import { type Buckets, bucketCount } from "../time/buckets.ts";
import { AmbiguousMatch, combineNumber, combineSeries, negateSeries } from "./binary-operation.ts";
import { constantSeries, fillWithNumber, fillWithSeries } from "./default-fill.ts";
import { foldSeries } from "./fold.ts";
import { histogramQuantiles } from "./histogram-quantile.ts";
import { topSeries } from "./ranking.ts";
import type { Reading } from "./scan-reader.ts";
import type { SeriesSet } from "./series-set.ts";
import { joinSets } from "./set-operation.ts";

export interface Evaluation {
  /** svcQL, for the places of errors. */
  query: string;
  buckets: Buckets;
  reading: Reading;
}

/** The series of a plan. Throws a QueryError where series do not match, and what the store throws. */
export async function evaluateSeries(plan: SeriesPlan, evaluation: Evaluation): Promise<SeriesSet> {
  switch (plan.kind) {
    case "scan":
      return evaluation.reading.series(plan);
    case "top": {
      const ranked = await evaluation.reading.topSeries(plan);
      return ranked ?? topSeries(plan, await evaluateSeries(plan.of, evaluation));
    }
    case "fold":
      return foldSeries(plan, await evaluateSeries(plan.of, evaluation));
    case "histogramQuantile":
      return histogramQuantiles(plan.q, await evaluateSeries(plan.of, evaluation));
    case "negation":
      return negateSeries(await evaluateSeries(plan.of, evaluation));
    case "calculation":
      return evaluateCalculation(plan, evaluation);
  }
}

async function evaluateCalculation(plan: Calculation, evaluation: Evaluation): Promise<SeriesSet> {
  const [left, right] = await Promise.all([
    evaluateSide(plan.left, evaluation),
    evaluateSide(plan.right, evaluation),
  ]);
  try {
    return combined(plan, left, right, evaluation);
  } catch (error) {
    if (!(error instanceof AmbiguousMatch)) throw error;
    throw new QueryError(error.message, { text: evaluation.query, span: plan.at });
  }
}

async function evaluateSide(
  side: SeriesPlan | Constant,
  evaluation: Evaluation,
): Promise<SeriesSet | number> {
  return side.kind === "number" ? side.value : evaluateSeries(side, evaluation);
}

function combined(
  plan: Calculation,
  left: SeriesSet | number,
  right: SeriesSet | number,
  { buckets }: Evaluation,
): SeriesSet {
  const { op, matching } = plan;
  if (typeof left === "number") return combineNumber(plan, right as SeriesSet, left, "left");
  if (op === "default") {
    if (typeof right !== "number") return fillWithSeries(plan, left, right);
    const isNone = left.order.length === 0 && plan.isLeftUnlabelled;
    if (isNone) return constantSeries(right, bucketCount(buckets));
    return fillWithNumber(left, right, bucketCount(buckets));
  }
  if (typeof right === "number") return combineNumber(plan, left, right, "right");
  return isSetOperator(op) ? joinSets(op, matching, left, right) : combineSeries(plan, left, right);
}
