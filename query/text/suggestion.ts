import { distance } from "fastest-levenshtein";

/** The candidate that a mistyped word probably means, or undefined where none is near. Case does not count. */
export function findClosest(word: string, candidates: Iterable<string>): string | undefined {
  const folded = word.toLowerCase();
  // A third of the letters may differ: two of five, one of three.
  let nearest = Math.ceil(word.length / 3) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= nearest) continue;
    const far = measureDistance(folded, candidate.toLowerCase());
    if (far < nearest) [nearest, found] = [far, candidate];
  }
  return found;
}

/** Letters in the wrong order count as one mistake. */
function measureDistance(a: string, b: string): number {
  const letters = (word: string) => [...word].sort().join("");
  return a !== b && letters(a) === letters(b) ? 1 : distance(a, b);
}

/** What a name that nothing bears was probably meant to be, as the end of a sentence; "" where nothing is near. */
export function suggestName(name: string, candidates: readonly string[]): string {
  const near = findClosest(name, candidates) ?? findLongerName(name, candidates);
  return near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
}

/** `namespace` may stand for `k8s.namespace.name`: the shortest name that has it as a part between separators. */
function findLongerName(name: string, candidates: readonly string[]): string | undefined {
  const part = `.${name.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  return candidates
    .filter((each) => `.${each.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`.includes(part))
    .sort((a, b) => a.length - b.length)[0];
}
