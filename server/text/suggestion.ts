/** Suggestions for mistyped words, by edit distance. */

import { distance } from "fastest-levenshtein";

/** The known word nearest to the given one; null where none is near: at most a third of the letters may differ. */
export function findNearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.ceil(word.length / 3)) + 1;
  for (const candidate of known) {
    const editDistance = distance(word.toLowerCase(), candidate.toLowerCase());
    if (editDistance < bestDistance && editDistance < candidate.length) {
      best = candidate;
      bestDistance = editDistance;
    }
  }
  return best;
}

/** Returns `; did you mean limit?`, or "" where no word is near. */
export function suggest(word: string, known: Iterable<string>): string {
  const near = findNearest(word, known);
  return near === null ? "" : `; did you mean ${near}?`;
}
