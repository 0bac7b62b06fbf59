/** How differently often something occurs in two sets of rows. */

/** Rows that have something, among all rows of a set. */
export interface Occurrence {
  rows: number;
  of: number;
}

/**
 * Shares of rows differ by so much, as the standard deviation of the logarithm of their odds, from one window to the
 * next although nothing has happened.
 */
const usualDeviation = 0.2;

/**
 * The difference of two occurrences in standard deviations: above zero where `a` has it more often. It is the logarithm
 * of the odds ratio (Haldane and Anscombe: half a row is added to each count, so that none is zero) by its standard
 * error (Woolf), which takes into account how much shares change anyway. So a small change of a frequent thing counts
 * less than a few rows of a new one.
 */
export function contrastOf(a: Occurrence, b: Occurrence): number {
  const counts = [a.rows, a.of - a.rows, b.rows, b.of - b.rows].map((count) => count + 0.5);
  const [inA, notInA, inB, notInB] = counts as [number, number, number, number];
  const logOdds = Math.log(inA / notInA) - Math.log(inB / notInB);
  const variance = counts.reduce((sum, count) => sum + 1 / count, 0);
  return logOdds / Math.sqrt(variance + usualDeviation ** 2);
}

/**
 * How likely two sets of rows with the same share would differ as much: the p-value of a likelihood-ratio test (G-test)
 * with one degree of freedom.
 */
export function chanceOf(a: Occurrence, b: Occurrence): number {
  const share = (a.rows + b.rows) / (a.of + b.of);
  const g = 2 * (gainOf(a, share) + gainOf(b, share));
  return complementaryError(Math.sqrt(Math.max(0, g) / 2));
}

/** The logarithm of how much likelier an occurrence is with its own share than with `share`. */
function gainOf({ rows, of }: Occurrence, share: number): number {
  const term = (count: number, expected: number) => (count === 0 ? 0 : count * Math.log(count / expected));
  return term(rows, of * share) + term(of - rows, of * (1 - share));
}

/** erfc(x) for x ≥ 0; Numerical Recipes, erfccheb's short form: relative error below 1.2e-7. */
function complementaryError(x: number): number {
  const t = 1 / (1 + x / 2);
  const coefficients = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587,
    -0.82215223, 0.17087277,
  ];
  const polynomial = coefficients.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
  return t * Math.exp(-x * x + polynomial);
}
