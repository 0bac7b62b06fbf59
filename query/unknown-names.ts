import type { RowSignal, Store } from "../engine/index.ts";
import { columns } from "./field.ts";
import { closest } from "./words.ts";

const endOfTimeNs = 2n ** 63n - 1n;

/** A sentence for each name that no row of a signal bears, with what was probably meant. */
export function unknownNameWarnings(
  store: Pick<Store, "attributeKeys">,
  { signal, names }: { signal: RowSignal; names: readonly string[] },
  fromNs: bigint,
  toNs: bigint,
): string[] {
  const [missing, known] = strangers(
    (from, to) => store.attributeKeys(signal, from, to),
    names,
    fromNs,
    toNs,
  );
  const candidates = [...known, ...Object.keys(columns[signal])];
  const row = signal === "traces" ? "span" : "row";
  return missing.map(
    (name) => `no ${row} has the attribute ${JSON.stringify(name)}${meant(name, candidates)}`,
  );
}

/** What a name that nothing bears was probably meant to be, as the end of a sentence; "" where nothing is near. */
export function meant(name: string, candidates: readonly string[]): string {
  const near = closest(name, candidates) ?? longerName(name, candidates);
  return near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
}

/** `namespace` may stand for `k8s.namespace.name`: the shortest name that has it as a part between separators. */
function longerName(name: string, candidates: readonly string[]): string | undefined {
  const part = `.${name.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`;
  return candidates
    .filter((each) => `.${each.toLowerCase().replace(/[^a-z0-9]+/g, ".")}.`.includes(part))
    .sort((a, b) => a.length - b.length)[0];
}

type ListKeys = (fromNs: bigint, toNs: bigint) => { keys: readonly string[]; isWhole: boolean };

/**
 * The names that nothing stored bears, and those that are borne: first of the range, which is at hand, then of all time.
 * None where there are more names than are listed, since any name may then be one of those.
 */
function strangers(
  list: ListKeys,
  names: readonly string[],
  fromNs: bigint,
  toNs: bigint,
): [string[], readonly string[]] {
  const missing = (known: readonly string[]) => {
    const set = new Set(known);
    return names.filter((name) => !set.has(name));
  };
  if (names.length === 0 || missing(list(fromNs, toNs).keys).length === 0) return [[], []];
  const { keys, isWhole } = list(0n, endOfTimeNs);
  return isWhole ? [missing(keys), keys] : [[], []];
}
