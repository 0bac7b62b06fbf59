import { distance } from "fastest-levenshtein";

/** Candidates that a word is compared with: some milliseconds of the query thread. Senders can make any number of names. */
const candidatesMax = 5_000;
/** Letters of a word that may be mistyped: comparing takes time in proportion to their square. */
const lettersMax = 100;

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
  // The sum rules out most words before letters are sorted.
  const mayBeReordered = a !== b && a.length === b.length && sumOfCodes(a) === sumOfCodes(b);
  return mayBeReordered && letters(a) === letters(b) ? 1 : distance(a, b);
}

function sumOfCodes(word: string): number {
  let sum = 0;
  for (let i = 0; i < word.length; i++) sum += word.charCodeAt(i);
  return sum;
}

/**
 * The end of a sentence about an unknown name: `; did you mean "…"?`, or "" where none of the first candidates is close.
 */
export function suggestName(name: string, candidates: readonly string[]): string {
  if (name.length > lettersMax) return "";
  const compared = candidates.slice(0, candidatesMax);
  const suggestion = findClosest(name, compared) ?? findLongerName(name, compared);
  return suggestion === undefined ? "" : `; did you mean ${JSON.stringify(suggestion)}?`;
}

/** The shortest candidate that has the name as a part between separators, as `k8s.namespace.name` has `namespace`. */
function findLongerName(name: string, candidates: readonly string[]): string | undefined {
  const part = `.${name.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  return candidates
    .filter((each) => `.${each.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`.includes(part))
    .sort((a, b) => a.length - b.length)[0];
}
