import { columns } from "./field.ts";
import { closest } from "./words.ts";

/** A sentence for each name that no row bears, with what was probably meant. */
export function unknownNameWarnings(names: readonly string[], known: readonly string[]): string[] {
  const candidates = [...known, ...Object.keys(columns)];
  return names.map((name) => {
    const near = closest(name, candidates) ?? longerName(name, candidates);
    const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
    return `no row has the attribute ${JSON.stringify(name)}${meant}`;
  });
}

/** `namespace` may stand for `k8s.namespace.name`: the shortest name that has it as a part between separators. */
function longerName(name: string, candidates: readonly string[]): string | undefined {
  const part = `.${name.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  return candidates
    .filter((each) => `.${each.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`.includes(part))
    .sort((a, b) => a.length - b.length)[0];
}
