import type { Store } from "../../engine/index.ts";
import { columnsBySignal } from "../plan/field.ts";
import type { SearchPlan } from "../plan/search-plan.ts";
import { suggestName } from "../text/suggestion.ts";
import type { TimeRangeNs } from "../time/range.ts";

type KeyStore = Pick<Store, "attributeKeys">;
type NamedFields = Pick<SearchPlan, "signal" | "names">;

const endOfTimeNs = 2n ** 63n - 1n;

/** Unknown names of one query for which a similar one is looked for. */
export const suggestedNamesMax = 5;

/**
 * Makes a warning for each attribute that no stored row of a signal has. Suggests a similar name where there is one.
 */
export function warnOfUnknownNames(store: KeyStore, plan: NamedFields, range: TimeRangeNs): string[] {
  const { signal, names } = plan;
  const list: ListKeys = ({ fromNs, toNs }) => store.attributeKeys(signal, fromNs, toNs);
  const [missing, known] = findUnknownNames(list, names, range);
  const candidates = [...known, ...Object.keys(columnsBySignal[signal])];
  const row = signal === "traces" ? "span" : "row";
  return missing.map((name, i) => {
    const suggestion = i < suggestedNamesMax ? suggestName(name, candidates) : "";
    return `no ${row} has the attribute ${JSON.stringify(name)}${suggestion}`;
  });
}

type ListKeys = (range: TimeRangeNs) => { keys: readonly string[]; isWhole: boolean };

/**
 * Returns the names that no stored row has, and all names that rows have. Looks the range up first, as that is cheaper
 * than all of time. Both lists are empty where the rows in the range have all names. They are also empty where the
 * store does not list all names, as a name that is not listed may then exist.
 */
function findUnknownNames(
  list: ListKeys,
  names: readonly string[],
  range: TimeRangeNs,
): [string[], readonly string[]] {
  const missing = (known: readonly string[]) => {
    const set = new Set(known);
    return names.filter((name) => !set.has(name));
  };
  if (names.length === 0 || missing(list(range).keys).length === 0) return [[], []];
  const { keys, isWhole } = list({ fromNs: 0n, toNs: endOfTimeNs });
  return isWhole ? [missing(keys), keys] : [[], []];
}

/** The warnings of a search: those of its plan, and one for each attribute that no stored row has. */
export function collectPlanWarnings(store: KeyStore, plan: SearchPlan, range: TimeRangeNs): string[] {
  return [...plan.warnings, ...warnOfUnknownNames(store, plan, range)];
}
