import { distance } from "fastest-levenshtein";

/** The known word that was probably meant, or null where none is near: at most a third of the letters may differ. */
export function findNearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.ceil(word.length / 3)) + 1;
  for (const candidate of known) {
    const d = distance(word.toLowerCase(), candidate.toLowerCase());
    if (d < bestDistance && d < candidate.length) {
      best = candidate;
      bestDistance = d;
    }
  }
  return best;
}

/** `; did you mean limit?`, or "" where nothing is near. */
export function suggest(word: string, known: Iterable<string>): string {
  const near = findNearest(word, known);
  return near === null ? "" : `; did you mean ${near}?`;
}
