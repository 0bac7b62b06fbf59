/**
 * The store with the rights of whoever saved an alert last. A query that these rights do not cover fails with an error.
 */

import type { Field, Filter, Signal, Step } from "../../engine/index.ts";
import type { TelemetryRule } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";
import { filterStore } from "./filtered-store.ts";
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
  tokens: Pick<Tokens, "get" | "isValid">,
  rules: readonly TelemetryRule[],
): SearchableStore {
  const caller = withCurrentRights(saver, tokens);
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

/**
 * The saver with the groups that the token has now. Rights from groups last as long as the token; those of a role alone
 * outlive it, so that renewing a token does not end alerts.
 */
function withCurrentRights(saver: Caller, tokens: Pick<Tokens, "get" | "isValid">): Caller {
  if (saver.tokenId === null) return saver;
  const record = tokens.get(saver.tokenId);
  if (record !== undefined && tokens.isValid(record)) return { ...saver, groups: record.groups ?? null };
  if (!isRestricted(saver)) return saver;
  throw new Error(
    `access lost: the token ${JSON.stringify(saver.name)}, which saved this alert last, is no longer valid; save the alert with another`,
  );
}

/** Values that fields have in every row that a query selects, by the field's name. */
type Facts = ReadonlyMap<string, string>;

/** Reads the leading filters only: behind an extraction, an attribute may have another value. */
function collectFacts(steps: readonly Step[]): Facts {
  const facts = new Map<string, string>();
  const collect = (filter: Filter): void => {
    if (filter.kind === "and") for (const each of filter.of) collect(each);
    if (filter.kind === "equals") facts.set(fieldKey(filter.field), filter.value);
  };
  for (const step of steps) {
    if (step.kind !== "filter") break;
    collect(step.filter);
  }
  return facts;
}

/** False where the facts exclude that any row passes the filter. */
function canMatch(filter: Filter, facts: Facts): boolean {
  switch (filter.kind) {
    case "never":
      return false;
    case "and":
      return filter.of.every((each) => canMatch(each, facts));
    case "or":
      return filter.of.some((each) => canMatch(each, facts));
    case "equals": {
      const fact = facts.get(fieldKey(filter.field));
      if (filter.field.kind === "level") return fact === undefined || fact.toLowerCase() === filter.value;
      return fact === undefined || fact === filter.value;
    }
    default:
      return true;
  }
}

/** A text that only equal fields share. */
export function fieldKey(field: Field): string {
  return field.kind === "attribute" ? `attribute ${field.key}` : field.kind;
}
