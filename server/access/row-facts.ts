/**
 * Facts about a selection of rows: the values that a field may have in them. They decide many filters for all of the
 * rows without reading one.
 */

import { type Field, type Filter, severityRangeOf } from "../../engine/index.ts";
import type { PlanStep } from "../../query/index.ts";
import { matchesWhole } from "../model/exclusion.ts";

/**
 * By the key of the field, the values of which every row of the selection has one. Levels are in lower case, and their
 * ranges are a field of their own.
 */
export type Facts = ReadonlyMap<string, readonly string[]>;

/** The key of a level's severity range. */
const rangeKey = "level range";

/** A text that only equal fields share. */
export function fieldKey(field: Field): string {
  if (field.kind === "level" && field.asRange === true) return rangeKey;
  return field.kind === "attribute" ? `attribute ${field.key}` : field.kind;
}

/** The facts with one more: both hold for every row. */
export function addFact(facts: Facts, field: Field, values: readonly string[]): Facts {
  const key = fieldKey(field);
  const texts = field.kind === "level" ? values.map(field.asRange === true ? toRange : toLower) : values;
  const known = facts.get(key);
  return new Map(facts).set(key, known === undefined ? texts : known.filter((each) => texts.includes(each)));
}

/** Reads the leading filters only: after any other step, an attribute may have another value. */
export function collectFacts(steps: readonly PlanStep[]): Facts {
  let facts: Facts = new Map();
  const collect = (filter: Filter): void => {
    if (filter.kind === "and") for (const each of filter.of) collect(each);
    if (filter.kind === "equals") facts = addFact(facts, filter.field, [filter.value]);
  };
  for (const step of steps) {
    if (step.kind !== "filter") break;
    collect(step.filter);
  }
  return facts;
}

/** False where the facts exclude that any row passes the filter. */
export function canMatch(filter: Filter, facts: Facts): boolean {
  switch (filter.kind) {
    case "never":
      return false;
    case "and":
      return filter.of.every((each) => canMatch(each, facts));
    case "or":
      return filter.of.some((each) => canMatch(each, facts));
    case "equals":
      return knownTexts(filter.field, facts)?.includes(filter.value) ?? true;
    default:
      return true;
  }
}

/** The texts that the facts leave for a field. Levels tell their ranges; ranges tell only levels that belong to none. */
function knownTexts(field: Field, facts: Facts): readonly string[] | undefined {
  const own = facts.get(fieldKey(field));
  if (own !== undefined || field.kind !== "level") return own;
  if (field.asRange === true) return facts.get("level")?.map(toRange);
  const ranges = facts.get(rangeKey);
  return ranges?.some((range) => severityRangeOf(range) !== undefined) ? undefined : ranges;
}

/** The text of a level that is compared as a range. */
function toRange(level: string): string {
  return severityRangeOf(level) ?? toLower(level);
}

function toLower(text: string): string {
  return text.toLowerCase();
}

/** Combinations of values that are looked at one by one; above it nothing is proven. */
const combinationsMax = 4_096;

/**
 * True where the facts prove that every row passes the filter. For filters without "not", as those of telemetry rules
 * are, false means that some row with these facts would not pass, unless there are too many combinations of values.
 */
export function mustMatch(filter: Filter, facts: Facts): boolean {
  // There is no row with these facts.
  if ([...facts.values()].some((values) => values.length === 0)) return true;
  const open = [...new Set(fieldsOf(filter))].filter((key) => (facts.get(key)?.length ?? 0) > 1);
  const combinations = open.reduce((product, key) => product * facts.get(key)!.length, 1);
  if (combinations > combinationsMax) return holdsForAll(filter, facts);
  return holdsForEach(filter, facts, open);
}

/** Takes the values of the open fields apart only as long as they leave it open whether the filter holds. */
function holdsForEach(filter: Filter, facts: Facts, [key, ...others]: readonly string[]): boolean {
  if (holdsForAll(filter, facts)) return true;
  if (key === undefined) return false;
  return facts.get(key)!.every((value) => holdsForEach(filter, new Map(facts).set(key, [value]), others));
}

function holdsForAll(filter: Filter, facts: Facts): boolean {
  switch (filter.kind) {
    case "always":
      return true;
    case "and":
      return filter.of.every((each) => holdsForAll(each, facts));
    case "or":
      return filter.of.some((each) => holdsForAll(each, facts));
    case "equals":
      return knownTexts(filter.field, facts)?.every((value) => value === filter.value) ?? false;
    case "matches": {
      const values = facts.get(fieldKey(filter.field));
      if (values === undefined || !filter.whole) return false;
      return values.every((value) => matchesWhole(filter.pattern, value));
    }
    default:
      return false;
  }
}

function fieldsOf(filter: Filter): string[] {
  if (filter.kind === "and" || filter.kind === "or") return filter.of.flatMap(fieldsOf);
  if (!("field" in filter)) return [];
  return filter.field.kind === "level" ? ["level", rangeKey] : [fieldKey(filter.field)];
}
