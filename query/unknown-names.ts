import type { Store } from "../engine/index.ts";
import { columns } from "./field.ts";
import { closest } from "./words.ts";

const endOfTimeNs = 2n ** 63n - 1n;

/** A sentence for each name that no row of the store bears, with what was probably meant. */
export function unknownNameWarnings(
  store: Pick<Store, "attributeKeys">,
  names: readonly string[],
  fromNs: bigint,
  toNs: bigint,
): string[] {
  const [missing, known] = strangers(store, names, fromNs, toNs);
  const candidates = [...known, ...Object.keys(columns)];
  return missing.map((name) => {
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

/**
 * The names that no row of the store bears, and those that rows do: first of the range, which is at hand, then of all time.
 * None where rows bear more names than the store lists, since any name may then be one of those.
 */
function strangers(
  store: Pick<Store, "attributeKeys">,
  names: readonly string[],
  fromNs: bigint,
  toNs: bigint,
): [string[], string[]] {
  const missing = (known: readonly string[]) => {
    const set = new Set(known);
    return names.filter((name) => !set.has(name));
  };
  if (names.length === 0 || missing(store.attributeKeys("logs", fromNs, toNs).keys).length === 0)
    return [[], []];
  const { keys, isWhole } = store.attributeKeys("logs", 0n, endOfTimeNs);
  return isWhole ? [missing(keys), keys] : [[], []];
}
