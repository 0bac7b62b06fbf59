/**
 * The store with the rights of whoever saved an alert last. A query that these rights do not cover fails with an error.
 */

import type { Signal, Step } from "../../engine/index.ts";
import type { TelemetryRule } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";
import { filterStore } from "./filtered-store.ts";
import { withTokenGroups } from "./group-membership.ts";
import { canMatch, collectFacts } from "./row-facts.ts";
import { isRestricted, rowFilterOf } from "./row-filter.ts";
import type { SearchableStore } from "./searchable-store.ts";
import type { Tokens } from "./tokens.ts";

/**
 * Returns the store with the rights that `saver` has now. Throws an Error, one sentence for people, where access was
 * lost. Reads of the returned store throw such an Error, too.
 */
export function storeOfSaver(
  store: SearchableStore,
  saver: Caller,
  tokens: Pick<Tokens, "groupsOf">,
  rules: readonly TelemetryRule[],
): SearchableStore {
  const caller = withTokenGroups(saver, tokens);
  if (!isRestricted(caller)) return store;
  const filtered = filterStore(store, (signal) => rowFilterOf(caller, rules, signal));
  const check = (signal: Signal, steps: readonly Step[]) => {
    if (canMatch(rowFilterOf(caller, rules, signal), collectFacts(steps))) return;
    const who = JSON.stringify(saver.name);
    throw new Error(
      `access lost: no telemetry rule lets ${who}, who saved this alert last, read the ${signal} that its query selects`,
    );
  };
  return {
    ...filtered,
    aggregate: async (query, limits) => {
      check(query.signal, query.steps);
      return filtered.aggregate(query, limits);
    },
    aggregateSamples: async (query, limits) => {
      check("metrics", query.steps);
      return filtered.aggregateSamples(query, limits);
    },
  };
}
