import { distance } from "fastest-levenshtein";

/** The candidate with the least edit distance to a mistyped word, ignoring case; undefined where none is close. */
export function findClosest(word: string, candidates: Iterable<string>): string | undefined {
  const folded = word.toLowerCase();
  // Up to a third of the letters, rounded up, may differ: two of five, one of three.
  let leastDistance = Math.ceil(word.length / 3) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= leastDistance) continue;
    const distance = measureDistance(folded, candidate.toLowerCase());
    if (distance < leastDistance) [leastDistance, found] = [distance, candidate];
  }
  return found;
}

/** The edit distance, but 1 for two words of the same letters in different order. */
function measureDistance(a: string, b: string): number {
  const letters = (word: string) => [...word].sort().join("");
  return a !== b && letters(a) === letters(b) ? 1 : distance(a, b);
}

/** The end of a sentence about an unknown name: `; did you mean "…"?`, or "" where no candidate is close. */
export function suggestName(name: string, candidates: readonly string[]): string {
  const suggestion = findClosest(name, candidates) ?? findLongerName(name, candidates);
  return suggestion === undefined ? "" : `; did you mean ${JSON.stringify(suggestion)}?`;
}

/** The shortest candidate that has the name as a part between separators, as `k8s.namespace.name` has `namespace`. */
function findLongerName(name: string, candidates: readonly string[]): string | undefined {
  const part = `.${name.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  return candidates
    .filter((each) => `.${each.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`.includes(part))
    .sort((a, b) => a.length - b.length)[0];
}
