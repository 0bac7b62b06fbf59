import type { WorkDeadline } from "./deadline.ts";

/** Numbers that are calculated between two looks at the clock. */
const chunkLength = 1_024;

/** Fills a vector, other requests running in between. */
export async function fillInTurns<A extends { length: number; [i: number]: number }>(
  into: A,
  numberAt: (i: number) => number,
  work: WorkDeadline,
): Promise<A> {
  const { length } = into;
  for (let from = 0; from < length; from += chunkLength) {
    const to = Math.min(from + chunkLength, length);
    for (let i = from; i < to; i++) into[i] = numberAt(i);
    if (work.isTurnOver(64)) await work.yield();
  }
  return into;
}

/** The numbers that pass, other requests running in between. */
export async function filterInTurns(
  numbers: Uint32Array,
  passes: (number: number, i: number) => boolean,
  work: WorkDeadline,
): Promise<Uint32Array> {
  const kept = new Uint32Array(numbers.length);
  let count = 0;
  for (let from = 0; from < numbers.length; from += chunkLength) {
    const to = Math.min(from + chunkLength, numbers.length);
    for (let i = from; i < to; i++) if (passes(numbers[i]!, i)) kept[count++] = numbers[i]!;
    if (work.isTurnOver(64)) await work.yield();
  }
  return kept.slice(0, count);
}
