/** The store as whoever saved an alert last sees it now: what the alert may not read is an error, not a lack of rows. */

import type { Field, Filter, Signal, Step } from "../../engine/index.ts";
import type { TelemetryRule } from "../model/access-rules.ts";
import type { Caller } from "../model/caller.ts";
import { filteredStore } from "./filtered-store.ts";
import { isRestricted, rowFilterOf } from "./row-filter.ts";
import type { SearchableStore } from "./searchable.ts";
import type { Tokens } from "./tokens.ts";

/** Its reads throw an Error, one sentence for people, where access was lost. */
export function storeOfSaver(
  store: SearchableStore,
  saver: Caller,
  tokens: Pick<Tokens, "get" | "isValid">,
  rules: readonly TelemetryRule[],
): SearchableStore {
  const caller = rightsNow(saver, tokens);
  if (!isRestricted(caller)) return store;
  const narrowed = filteredStore(store, (signal) => rowFilterOf(caller, rules, signal));
  const check = (signal: Signal, steps: readonly Step[]) => {
    if (mayHold(rowFilterOf(caller, rules, signal), factsOf(steps))) return;
    const who = JSON.stringify(saver.name);
    throw new Error(
      `access lost: no telemetry rule lets ${who}, who saved this alert last, read the ${signal} that its query selects`,
    );
  };
  return {
    ...narrowed,
    aggregate: async (query, limits) => {
      check(query.signal, query.steps);
      return narrowed.aggregate(query, limits);
    },
    aggregateSamples: async (query, limits) => {
      check("metrics", query.steps);
      return narrowed.aggregateSamples(query, limits);
    },
  };
}

/** Rights that come from groups last as long as the token that bears them. Those of a role alone outlive it: a token that is renewed must not end alerts. */
function rightsNow(saver: Caller, tokens: Pick<Tokens, "get" | "isValid">): Caller {
  if (saver.tokenId === null) return saver;
  const record = tokens.get(saver.tokenId);
  if (record !== undefined && tokens.isValid(record)) return { ...saver, groups: record.groups ?? null };
  if (!isRestricted(saver)) return saver;
  throw new Error(
    `access lost: the token ${JSON.stringify(saver.name)}, which saved this alert last, is no longer valid; save the alert with another`,
  );
}

/** Texts that fields have in all rows that a query selects, by the field's name. */
type Facts = ReadonlyMap<string, string>;

/** Of the filters before anything is extracted: an attribute may be another one behind that. */
function factsOf(steps: readonly Step[]): Facts {
  const facts = new Map<string, string>();
  const collect = (filter: Filter): void => {
    if (filter.kind === "and") for (const each of filter.of) collect(each);
    if (filter.kind === "equals") facts.set(nameOf(filter.field), filter.value);
  };
  for (const step of steps) {
    if (step.kind !== "filter") break;
    collect(step.filter);
  }
  return facts;
}

/** Whether a row may pass a rule's filter, as far as the facts tell. */
function mayHold(filter: Filter, facts: Facts): boolean {
  switch (filter.kind) {
    case "never":
      return false;
    case "and":
      return filter.of.every((each) => mayHold(each, facts));
    case "or":
      return filter.of.some((each) => mayHold(each, facts));
    case "equals": {
      const fact = facts.get(nameOf(filter.field));
      if (filter.field.kind === "level") return fact === undefined || fact.toLowerCase() === filter.value;
      return fact === undefined || fact === filter.value;
    }
    default:
      return true;
  }
}

function nameOf(field: Field): string {
  return field.kind === "attribute" ? `attribute ${field.key}` : field.kind;
}
