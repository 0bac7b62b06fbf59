/** Aggregations of lists of numbers. */

export type NaiveFold = "sum" | "avg" | "min" | "max" | "stddev" | "count" | "quantile";

/** Folds one or more values into one. Only the quantile uses `q`. */
export function foldNumbers(op: NaiveFold, values: readonly number[], q: number): number {
  switch (op) {
    case "count":
      return values.length;
    case "sum":
      return sum(values);
    case "avg":
      return sum(values) / values.length;
    case "min":
      return Math.min(...values);
    case "max":
      return Math.max(...values);
    case "stddev":
      return stddev(values);
    case "quantile":
      return quantile(q, values);
  }
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The standard deviation of the population. */
function stddev(values: readonly number[]): number {
  const mean = sum(values) / values.length;
  return Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length);
}

/** The quantile at rank q · (n - 1), interpolated linearly between the two closest values. */
function quantile(q: number, values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = q * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
  return low === high ? low : low + (high - low) * (rank - Math.floor(rank));
}

/** A bucket of a histogram: the number of observations up to the bound. */
export interface HistogramBound {
  le: number;
  count: number;
}

/** The bound in a label `le`; undefined where it is missing or no number. */
export function boundOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text);
  if (infinite !== null) return infinite[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** The quantile of a classic histogram as Prometheus defines it; undefined where there is none. */
export function computeHistogramQuantile(q: number, all: readonly HistogramBound[]): number | undefined {
  const buckets = toMonotonic(mergeBounds(all));
  const last = buckets.at(-1);
  if (buckets.length < 2 || last!.le !== Number.POSITIVE_INFINITY || last!.count === 0) return undefined;
  const rank = q * last!.count;
  const at = buckets.findIndex(({ count }) => count >= rank);
  if (at < 0 || at === buckets.length - 1) return buckets.at(-2)!.le;
  const { le, count } = buckets[at]!;
  if (at === 0 && le <= 0) return le;
  const below = at === 0 ? { le: 0, count: 0 } : buckets[at - 1]!;
  const found = below.le + (le - below.le) * ((rank - below.count) / (count - below.count));
  return Number.isNaN(found) ? undefined : found;
}

/** Sorts buckets by bound, and adds up those of equal bound. */
function mergeBounds(all: readonly HistogramBound[]): HistogramBound[] {
  const byBound = Map.groupBy(all, ({ le }) => le);
  return [...byBound]
    .map(([le, same]) => ({ le, count: sum(same.map(({ count }) => count)) }))
    .sort((a, b) => (a.le < b.le ? -1 : 1));
}

/** Raises each count to at least the count before it. */
function toMonotonic(buckets: readonly HistogramBound[]): HistogramBound[] {
  let most = Number.NEGATIVE_INFINITY;
  return buckets.map(({ le, count }) => {
    most = Math.max(most, count);
    return { le, count: most };
  });
}
