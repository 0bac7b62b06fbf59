/** How windows are put together from the steps that they share, so that each row is read once. */

import type { AggregateResult, Aggregation } from "../../engine/index.ts";
import type { RowScan, SampleScan, Scan } from "../plan/scan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import type { BucketWindows } from "../time/windows.ts";
import type { SeriesSet } from "./series-set.ts";
import { type JoinValues, slideNumbers, slideWindows } from "./sliding.ts";
import { makeWindowValues, type StatisticColumns } from "./window-function.ts";

/**
 * How the value of a window is computed from those of its steps. `numbers`: the values are joined one by one, as by
 * adding them. `moments`: an average or a standard deviation, of which each step has the sum, the count and the squared
 * distances from the mean. `place`, `sum`, `count` and `squares` are indexes of aggregations.
 */
type StepJoin =
  | { kind: "numbers"; place: number; join: JoinValues }
  | { kind: "moments"; op: "avg" | "stddev"; sum: number; count: number; squares: number | undefined };

/** What is read of each step, and how the value of a window is computed from it. */
export interface WindowSteps {
  /** The scan, with the aggregations that are read of each step. */
  scan: Scan;
  /** One for each aggregation of the scan as it was planned. */
  joins: readonly StepJoin[];
}

const add: JoinValues = (a, b) => a + b;
const numberJoins: Readonly<Record<string, JoinValues>> = {
  count: add,
  sum: add,
  min: Math.min,
  max: Math.max,
};

/** Undefined where steps do not make a window, as with quantiles: then each window is read by itself. */
export function planWindowSteps(scan: Scan): WindowSteps | undefined {
  return scan.kind === "rows" ? planRowSteps(scan) : planSampleSteps(scan);
}

function planRowSteps(scan: RowScan): WindowSteps | undefined {
  const aggregates: Aggregation[] = [];
  const read = (aggregate: Aggregation) => aggregates.push(aggregate) - 1;
  const joins: StepJoin[] = [];
  for (const aggregate of scan.aggregates) {
    const { op } = aggregate;
    const join = numberJoins[op];
    if (join !== undefined) joins.push({ kind: "numbers", place: read(aggregate), join });
    else if (op !== "avg" && op !== "stddev") return undefined;
    else {
      const { of } = aggregate;
      const squares = op === "stddev" ? read({ op: "squares", of }) : undefined;
      const [sum, count] = [read({ op: "sum", of }), read({ op: "numbers", of })];
      joins.push({ kind: "moments", op, sum, count, squares });
    }
  }
  return { scan: { ...scan, aggregates }, joins };
}

function planSampleSteps(scan: SampleScan): WindowSteps | undefined {
  const { op } = scan.aggregate;
  const joined = (join: JoinValues): WindowSteps => ({ scan, joins: [{ kind: "numbers", place: 0, join }] });
  if (scan.of !== "increase") return op === "min" || op === "max" ? joined(numberJoins[op]!) : undefined;
  // The average of the increases of a single series is that increase.
  const isEachAlone = !Array.isArray(scan.groupBy) && scan.groupBy.without.length === 0;
  return op === "sum" || (op === "avg" && isEachAlone) ? joined(add) : undefined;
}

/**
 * The series of one aggregation, with one point for each window. `toSeries` makes series of the points of steps and the
 * values given for them. Throws Failure "limit" where there are too many points.
 */
export async function joinSteps(
  join: StepJoin,
  { points }: AggregateResult,
  windows: BucketWindows,
  toSeries: (values: Float64Array) => Promise<SeriesSet>,
  work: WorkDeadline,
): Promise<SeriesSet> {
  if (join.kind === "numbers") {
    const set = await toSeries(points.values[join.place]!);
    return slideNumbers(set, windows, join.join, work);
  }
  const [sum, count] = [points.values[join.sum]!, points.values[join.count]!];
  const squares = join.squares === undefined ? undefined : points.values[join.squares]!;
  // A point without numbers gets no place in the series.
  const places = count.map((numbers, point) => (Number.isNaN(numbers) ? Number.NaN : point));
  const mean = sum.map((each, point) => each / count[point]!);
  const columns: StatisticColumns = {
    set: await toSeries(places),
    columns: { count, sum, mean, ...(squares === undefined ? {} : { squares }) },
    fromMs: windows.range.startMs,
  };
  return slideWindows(columns.set, windows, makeWindowValues({ op: join.op }, columns, windows), work);
}
