import type { RowSignal, Store } from "../../engine/index.ts";
import { columnsBySignal } from "../plan/field.ts";
import type { SearchPlan } from "../plan/search-plan.ts";
import { suggestName } from "../text/suggestion.ts";

const endOfTimeNs = 2n ** 63n - 1n;

/**
 * Makes a warning for each attribute that no stored row of a signal has. Suggests a similar name where there is one.
 */
export function warnOfUnknownNames(
  store: Pick<Store, "attributeKeys">,
  { signal, names }: { signal: RowSignal; names: readonly string[] },
  fromNs: bigint,
  toNs: bigint,
): string[] {
  const [missing, known] = findUnknownNames(
    (from, to) => store.attributeKeys(signal, from, to),
    names,
    fromNs,
    toNs,
  );
  const candidates = [...known, ...Object.keys(columnsBySignal[signal])];
  const row = signal === "traces" ? "span" : "row";
  return missing.map(
    (name) => `no ${row} has the attribute ${JSON.stringify(name)}${suggestName(name, candidates)}`,
  );
}

type ListKeys = (fromNs: bigint, toNs: bigint) => { keys: readonly string[]; isWhole: boolean };

/**
 * Returns the names that no stored row has, and all names that rows have. Looks the range up first, as that is cheaper
 * than all of time. Both lists are empty where the rows in the range have all names. They are also empty where the
 * store does not list all names, as a name that is not listed may then exist.
 */
function findUnknownNames(
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

/** The warnings of a search: those of its plan, and one for each attribute that no stored row has. */
export function collectPlanWarnings(
  store: Pick<Store, "attributeKeys">,
  { signal, names, warnings }: SearchPlan,
  fromNs: bigint,
  toNs: bigint,
): string[] {
  return [...warnings, ...warnOfUnknownNames(store, { signal, names }, fromNs, toNs)];
}
