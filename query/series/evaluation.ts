import type { NodeResult } from "../explanation/explanation.ts";
import { isSetOperator } from "../plan/arithmetic.ts";
import type { Calculation, Constant, SeriesPlan } from "../plan/series-plan.ts";
import { QueryError, type TextSpan } from "../text/query-error.ts";
import { countBuckets, type TimeBuckets } from "../time/buckets.ts";
import { AmbiguousMatchError, combineNumber, combineSeries, negateSeries } from "./binary-operation.ts";
import { fillWithNumber, fillWithSeries, makeAbsentSeries, makeConstantSeries } from "./default-fill.ts";
import { foldSeries } from "./fold.ts";
import { computeHistogramQuantiles } from "./histogram-quantile.ts";
import { mapPoints } from "./point-function.ts";
import { selectTopSeries, sortSeries } from "./ranking.ts";
import { relabelSeries } from "./relabelling.ts";
import type { ScanReader } from "./scan-reader.ts";
import type { SeriesSet } from "./series-set.ts";
import { applySetOperator } from "./set-operation.ts";

/** What the evaluation of one plan needs besides the plan. */
export interface EvaluationContext {
  /** The text of the query, which errors point into. */
  query: string;
  buckets: TimeBuckets;
  reader: ScanReader;
  /** What each node of the plan led to, where the query is to be explained. */
  nodes?: Map<SeriesPlan, NodeResult> | undefined;
}

/** Evaluates a plan. Throws a QueryError where operands do not match one to one, and what the store throws. */
export async function evaluateSeries(plan: SeriesPlan, context: EvaluationContext): Promise<SeriesSet> {
  const startedMs = performance.now();
  const set = await evaluateOperation(plan, context);
  const milliseconds = performance.now() - startedMs;
  context.nodes?.set(plan, { series: set.order.length, points: countPoints(set), milliseconds });
  await context.reader.deadline.yield();
  return set;
}

function countPoints({ order, starts }: SeriesSet): number {
  return order.reduce((sum, series) => sum + starts[series + 1]! - starts[series]!, 0);
}

async function evaluateOperation(plan: SeriesPlan, context: EvaluationContext): Promise<SeriesSet> {
  const work = context.reader.deadline;
  switch (plan.kind) {
    case "scan":
      return context.reader.readSeries(plan);
    case "window":
      return context.reader.readWindowFunction(plan);
    case "top": {
      const ranked = await context.reader.readTopSeries(plan);
      return ranked ?? selectTopSeries(plan, await evaluateSeries(plan.of, context), work);
    }
    case "fold":
      return foldSeries(plan, await evaluateSeries(plan.of, context), work);
    case "histogramQuantile":
      return computeHistogramQuantiles(plan.q, await evaluateSeries(plan.of, context), work);
    case "map":
      return mapPoints(plan.fn, await evaluateSeries(plan.of, context));
    case "relabel": {
      const set = await evaluateSeries(plan.of, context);
      return pointAtAmbiguity(plan, context, () => relabelSeries(plan, set, work));
    }
    case "sort":
      return sortSeries(plan, await evaluateSeries(plan.of, context), work);
    case "absent": {
      const set = await evaluateSeries(plan.of, context);
      return makeAbsentSeries(plan.labels, set, countBuckets(context.buckets), work);
    }
    case "negation":
      return negateSeries(await evaluateSeries(plan.of, context));
    case "calculation":
      return evaluateCalculation(plan, context);
  }
}

async function evaluateCalculation(plan: Calculation, context: EvaluationContext): Promise<SeriesSet> {
  const [left, right] = await Promise.all([
    evaluateOperand(plan.left, context),
    evaluateOperand(plan.right, context),
  ]);
  return pointAtAmbiguity(plan, context, () => applyOperator(plan, left, right, context));
}

/** Gives the error for series that cannot be told apart its place in the query. */
async function pointAtAmbiguity(
  { at }: { at: TextSpan },
  { query }: EvaluationContext,
  evaluate: () => Promise<SeriesSet>,
): Promise<SeriesSet> {
  try {
    return await evaluate();
  } catch (error) {
    if (!(error instanceof AmbiguousMatchError)) throw error;
    throw new QueryError(error.message, { text: query, span: at });
  }
}

async function evaluateOperand(
  operand: SeriesPlan | Constant,
  context: EvaluationContext,
): Promise<SeriesSet | number> {
  return operand.kind === "number" ? operand.value : evaluateSeries(operand, context);
}

async function applyOperator(
  plan: Calculation,
  left: SeriesSet | number,
  right: SeriesSet | number,
  { buckets, reader }: EvaluationContext,
): Promise<SeriesSet> {
  const work = reader.deadline;
  const { op, matching } = plan;
  if (typeof left === "number") return combineNumber(plan, right as SeriesSet, left, "left");
  if (op === "default") {
    if (typeof right !== "number") return fillWithSeries(plan, left, right, work);
    const isEmpty = left.order.length === 0 && plan.isLeftUnlabelled;
    if (isEmpty) return makeConstantSeries(right, countBuckets(buckets));
    return fillWithNumber(left, right, countBuckets(buckets));
  }
  if (typeof right === "number") return combineNumber(plan, left, right, "right");
  return isSetOperator(op)
    ? applySetOperator(op, matching, left, right, work)
    : combineSeries(plan, left, right, work);
}
