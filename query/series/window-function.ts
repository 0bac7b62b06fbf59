import type { AggregateResult, SampleStatistic } from "../../engine/index.ts";
import type { WindowFunction } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import type { BucketWindows, TimeWindow } from "../time/windows.ts";
import { filterPoints, type SeriesSet, toSeriesSetOfPairs } from "./series-set.ts";
import type { JoinValues, WindowValues } from "./sliding.ts";

/** The statistics of the samples of a span of time. Those that a function does not need are NaN. Times are milliseconds. */
type Statistics = Readonly<Record<SampleStatistic, number>>;

/** The statistics of the samples of many spans, as columns by statistic. */
export interface StatisticColumns {
  /** A value is the index of the point in the columns. */
  set: SeriesSet;
  columns: Readonly<Partial<Record<SampleStatistic, Float64Array>>>;
  /** The time from which the times of the columns are counted, in milliseconds since the epoch. */
  fromMs: number;
}

/** Reads the columns of a scan for `statistics`, in their order. `fromMs`: the start of the range that was read. */
export async function toStatisticColumns(
  result: Pick<AggregateResult, "groups" | "labels" | "points">,
  statistics: readonly SampleStatistic[],
  fromMs: number,
  work: WorkDeadline,
): Promise<StatisticColumns> {
  const { points } = result;
  const indexes = Float64Array.from(points.groups, (_, index) => index);
  const indexed = { ...result, points: { ...points, values: [indexes] } };
  const columns = Object.fromEntries(statistics.map((name, i) => [name, points.values[i]!]));
  return { set: await toSeriesSetOfPairs(indexed, work), columns, fromMs };
}

/** How the windows of buckets get the value of a function from the statistics of their steps. */
export function makeWindowValues(
  fn: WindowFunction,
  { set, columns, fromMs }: StatisticColumns,
  windows: BucketWindows,
): WindowValues<Statistics> {
  const compute = toFunction(fn);
  return {
    valueAt: (point) => statisticsAt(columns, set.values[point]!),
    join: joinStatistics,
    toPoint: (statistics, bucket) => {
      const window = windows.windowOf(bucket);
      const value = compute(statistics, { fromMs: window.fromMs - fromMs, toMs: window.toMs - fromMs });
      return value === undefined || Number.isNaN(value) ? undefined : value;
    },
  };
}

/** Computes a function for windows that are single buckets. */
export function computeBuckets({ set }: StatisticColumns, values: WindowValues<Statistics>): SeriesSet {
  return filterPoints(set, (point) => values.toPoint(values.valueAt(point), set.buckets[point]!));
}

function statisticsAt(columns: StatisticColumns["columns"], point: number): Statistics {
  const at = (name: SampleStatistic) => columns[name]?.[point] ?? Number.NaN;
  return {
    ...{ count: at("count"), sum: at("sum"), min: at("min"), max: at("max"), mean: at("mean") },
    ...{ squares: at("squares"), changes: at("changes"), first: at("first"), firstTime: at("firstTime") },
    ...{ last: at("last"), lastTime: at("lastTime"), meanTime: at("meanTime") },
    ...{ timeSquares: at("timeSquares"), products: at("products") },
  };
}

/** Means and sums of squares are joined by the formulas of Chan, Golub and LeVeque (1979), and likewise of products. */
const joinStatistics: JoinValues<Statistics> = (a, b) => {
  const count = a.count + b.count;
  const weight = b.count / count;
  const both = a.count * weight;
  const [distance, timeDistance] = [b.mean - a.mean, b.meanTime - a.meanTime];
  return {
    count,
    sum: a.sum + b.sum,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    mean: a.mean + distance * weight,
    squares: a.squares + b.squares + distance * distance * both,
    changes: a.changes + b.changes + (a.last === b.first ? 0 : 1),
    first: a.first,
    firstTime: a.firstTime,
    last: b.last,
    lastTime: b.lastTime,
    meanTime: a.meanTime + timeDistance * weight,
    timeSquares: a.timeSquares + b.timeSquares + timeDistance * timeDistance * both,
    products: a.products + b.products + distance * timeDistance * both,
  };
};

/** The value of a function for the samples of a window; undefined where it takes two and there is one. */
type ComputeWindow = (statistics: Statistics, window: TimeWindow) => number | undefined;

function toFunction(fn: WindowFunction): ComputeWindow {
  switch (fn.op) {
    case "avg":
      return ({ sum, count }) => sum / count;
    case "stddev":
      return ({ squares, count }) => Math.sqrt(squares / count);
    case "delta":
      return extrapolateDelta;
    case "deriv":
      return (statistics) => slopeOf(statistics);
    case "predict":
      return (statistics, { toMs }) => {
        const slope = slopeOf(statistics);
        const { mean, meanTime } = statistics;
        return slope === undefined ? undefined : mean + slope * ((toMs - meanTime) / 1000 + fn.seconds);
      };
    default: {
      const { op } = fn;
      return (statistics) => statistics[op];
    }
  }
}

/** The slope a second of the straight line through the samples, by least squares. Undefined for a single sample. */
function slopeOf({ count, products, timeSquares }: Statistics): number | undefined {
  return count < 2 ? undefined : (products / timeSquares) * 1000;
}

/**
 * The last value less the first, extrapolated to the whole window as Prometheus does: to an end that is closer than 1.1
 * times the average time between samples, and else by half that time. Undefined for a single sample.
 */
function extrapolateDelta(statistics: Statistics, { fromMs, toMs }: TimeWindow): number | undefined {
  const { count, first, firstTime, last, lastTime } = statistics;
  if (count < 2) return undefined;
  const sampledMs = lastTime - firstTime;
  const betweenMs = sampledMs / (count - 1);
  const reachOf = (ms: number) => (ms < betweenMs * 1.1 ? ms : betweenMs / 2);
  const wholeMs = sampledMs + reachOf(firstTime - fromMs) + reachOf(toMs - lastTime);
  return (last - first) * (wholeMs / sampledMs);
}
