/** Where the time buckets of ascending times begin, found by search instead of a pass over every time. */

/**
 * bounds[i] := the first row whose time is at least start + i × width, so that bucket i is rows [bounds[i], bounds[i +
 * 1]).
 * @param times ascending, in the unit of start and width
 * @param bounds one more than there are buckets
 */
export function findBucketBounds(
  times: Float64Array,
  start: number,
  width: number,
  bounds: Uint32Array,
): void {
  let row = 0;
  for (let i = 0; i < bounds.length; i++) {
    row = findFirstAtLeast(times, start + i * width, row);
    bounds[i] = row;
  }
}

/**
 * Galloping search from row `from` on: steps double until they pass the time, then bisection. Cheap where buckets are
 * many and short.
 */
function findFirstAtLeast(times: Float64Array, time: number, from: number): number {
  let step = 1;
  let low = from;
  while (low + step <= times.length && times[low + step - 1]! < time) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, times.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
