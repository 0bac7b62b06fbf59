/** Seeded random numbers and choices. */

import { Random as Generator } from "../../../fixtures/random.ts";

/** Returns pseudo-random numbers in [0, 1). */
export type Random = () => number;

export function randomOf(seed: number): Random {
  const generator = new Generator(seed);
  return () => generator.next() / 2 ** 32;
}

export function oneOf<T>(choices: readonly T[], random: Random): T {
  return choices[Math.floor(random() * choices.length)]!;
}
