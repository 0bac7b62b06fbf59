/** Places in ascending numbers. */

/** The first place whose number is at least `least`; the length where there is none. */
export function lowerBound(ascending: ArrayLike<number>, least: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last place whose whole number is at most `most`; the first number must be. */
export function lastAtMost(ascending: ArrayLike<number>, most: number): number {
  return lowerBound(ascending, most + 1) - 1;
}
