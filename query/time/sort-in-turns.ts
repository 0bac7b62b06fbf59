import type { WorkDeadline } from "./deadline.ts";

/** Numbers that are sorted at once: some hundred comparisons of long labels. */
const runLength = 256;

/**
 * Sorts numbers by a comparison, in turns; equal ones stay in their order. A merge sort: what is in order already, as the
 * sorted answers of several threads one after the other are, takes one comparison a number. Returns other numbers, or the
 * same where they are few and in order.
 */
export async function sortInTurns<A extends Uint32Array | Float64Array>(
  numbers: A,
  compare: (a: number, b: number) => number,
  work: WorkDeadline,
): Promise<A> {
  if (numbers.length <= runLength && isInOrder(numbers, compare)) return numbers;
  let from = numbers.slice() as A;
  let to = numbers.slice() as A;
  const { length } = numbers;
  for (let start = 0; start < length; start += runLength) {
    const run = from.subarray(start, start + runLength);
    if (!isInOrder(run, compare)) run.sort(compare);
    if (work.isTurnOver()) await work.yield();
  }
  for (let width = runLength; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(middle + width, length);
      if (middle === end || !(compare(from[middle - 1]!, from[middle]!) > 0)) {
        to.set(from.subarray(start, end), start);
        continue;
      }
      let [left, right] = [start, middle];
      for (let at = start; at < end; at++) {
        const takesLeft = right === end || (left < middle && !(compare(from[left]!, from[right]!) > 0));
        to[at] = takesLeft ? from[left++]! : from[right++]!;
        if (work.isTurnOver()) await work.yield();
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Sorts things by a comparison, in turns and stably, and returns the first `limit`. */
export async function firstInTurns<T>(
  things: readonly T[],
  limit: number,
  compare: (a: T, b: T) => number,
  work: WorkDeadline,
): Promise<T[]> {
  const numbers = Uint32Array.from(things, (_, i) => i);
  const sorted = await sortInTurns(numbers, (a, b) => compare(things[a]!, things[b]!), work);
  return Array.from(sorted.subarray(0, limit), (i) => things[i]!);
}

function isInOrder(run: Uint32Array | Float64Array, compare: (a: number, b: number) => number): boolean {
  for (let i = 1; i < run.length; i++) if (compare(run[i - 1]!, run[i]!) > 0) return false;
  return true;
}
