/** Binary search in ascending numbers. */

/** The index of the first number that is at least `least`; the length where there is none. */
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

/** The index of the last number that is at most `most`. All are whole numbers, and the first is at most `most`. */
export function findLastAtMost(ascending: ArrayLike<number>, most: number): number {
  return lowerBound(ascending, most + 1) - 1;
}
