/** Robust statistics of few numbers. */

/** Makes the median absolute deviation of normal noise its standard deviation. */
const madToDeviation = 1.4826;
/** Half of the numbers of normal noise lie within this many standard deviations around the median. */
const quartilesToDeviation = 1.349;

/** Interpolates between two numbers; NaN where there are none. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const rank = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(rank)] ?? Number.NaN, sorted[Math.ceil(rank)] ?? Number.NaN];
  return low + (high - low) * (rank % 1);
}

export function sorted(numbers: Iterable<number>): Float64Array {
  return Float64Array.from(numbers).sort();
}

export function medianOf(numbers: Iterable<number>): number {
  return quantileOf(sorted(numbers), 0.5);
}

/** The standard deviation of the noise around the median, by the median of the distances from it. */
export function deviationByMad(numbers: readonly number[], median: number): number {
  return madToDeviation * medianOf(numbers.map((each) => Math.abs(each - median)));
}

/** The standard deviation of the noise, by the distance between the quartiles. */
export function deviationByQuartiles(ascending: ArrayLike<number>): number {
  return (quantileOf(ascending, 0.75) - quantileOf(ascending, 0.25)) / quartilesToDeviation;
}

/**
 * How surprising `hits` of `trials` are where a share of `expected` is usual, in standard deviations: the signed root of
 * twice the log-likelihood ratio.
 */
export function surpriseOf(hits: number, trials: number, expected: number): number {
  const share = hits / trials;
  const part = (count: number, seen: number, usual: number) =>
    count === 0 ? 0 : count * Math.log(seen / usual);
  const ratio = part(hits, share, expected) + part(trials - hits, 1 - share, 1 - expected);
  return Math.sign(share - expected) * Math.sqrt(2 * Math.max(0, ratio));
}

/** 0 up to `low`, 1 from `high` on, and proportional between. */
export function rampOf(value: number, low: number, high: number): number {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}
