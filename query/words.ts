import { distance } from "fastest-levenshtein";

/** Aggregations over rows or series. */
export const aggregations = [
  "count",
  "sum",
  "avg",
  "min",
  "max",
  "stddev",
  "quantile",
  "count_distinct",
  "topk",
  "bottomk",
  "histogram_quantile",
  "trace_duration_quantile",
] as const;

/** Functions of a counter or of rows over time. */
export const rates = ["rate", "increase"] as const;

/** What may stand behind `|` besides a label filter. */
export const stageWords = ["json", "logfmt", "pattern", "regexp"] as const;

/** Words between and behind series. */
export const connectives = [
  "by",
  "without",
  "on",
  "ignoring",
  "bool",
  "and",
  "or",
  "unless",
  "default",
] as const;

/** Names that select rows of a signal; every other name is a metric. */
export const signals = ["logs", "traces", "kubernetes_resources", "profiles"] as const;

/** Words that are no labels unless quoted, between series and in label filters. */
export const reservedWords: ReadonlySet<string> = new Set<string>([...stageWords, ...connectives]);

/** The candidate that a mistyped word probably means, or undefined where none is near. Case does not count. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const folded = word.toLowerCase();
  // A third of the letters may differ: two of five, one of three.
  let nearest = Math.ceil(word.length / 3) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= nearest) continue;
    const far = wordDistance(folded, candidate.toLowerCase());
    if (far < nearest) [nearest, found] = [far, candidate];
  }
  return found;
}

/** Letters in the wrong order count as one mistake. */
function wordDistance(a: string, b: string): number {
  const letters = (word: string) => [...word].sort().join("");
  return a !== b && letters(a) === letters(b) ? 1 : distance(a, b);
}
