/** Evaluates filters on a chunk's header and membership filters, before any column is read. */
import type { ColumnOutline, ListedValue } from "../chunk/chunk-header.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Filter } from "../plan/filter.ts";
import { findNgrams, mayContainNgrams, NgramLength } from "../template/ngram-filter.ts";
import { findLongTokens, type LongToken } from "../template/token-filter.ts";
import { variableGroups } from "../template/variables/variable-columns.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { hashText, mayContain } from "../vector/membership-filter.ts";
import { mayHaveArrived } from "./arrival-filter.ts";
import { planPattern } from "./pattern-search.ts";
import { compareNumbers, compileValueTest, type LeafFilter } from "./predicate.ts";

/** How many of a chunk's rows pass: all, none, or "some" where statistics cannot tell. */
export type MatchResult = "all" | "none" | "some";

/** Evaluates a filter on a chunk's statistics alone. Throws Failure "input" for a pattern that is not RE2. */
export function matchFromStatistics(filter: Filter, view: ChunkView): MatchResult {
  switch (filter.kind) {
    case "always":
      return "all";
    case "never":
      return "none";
    case "not":
      return negated[matchFromStatistics(filter.of, view)];
    case "and":
      return matchConjunction(filter.of, view);
    case "or":
      return negated[matchConjunction(filter.of.map(negate), view)];
    case "arrived":
      return mayHaveArrived(filter.numbers, view) ? "some" : "none";
    default:
      return matchLeaf(filter, view);
  }
}

/**
 * The conjuncts of a filter that must still be evaluated on columns: an empty list where all rows pass, undefined where
 * no row does.
 */
export function findResidualFilters(filter: Filter, view: ChunkView): Filter[] | undefined {
  const residual: Filter[] = [];
  for (const part of findConjuncts(filter)) {
    const result = matchFromStatistics(part, view);
    if (result === "none") return undefined;
    if (result === "some") residual.push(part);
  }
  return residual;
}

/** The parts that a row must all pass. */
export function findConjuncts(filter: Filter): Filter[] {
  return filter.kind === "and" ? filter.of.flatMap(findConjuncts) : [filter];
}

const negated = { all: "none", none: "all", some: "some" } as const satisfies Record<
  MatchResult,
  MatchResult
>;

function negate(of: Filter): Filter {
  return { kind: "not", of };
}

function matchConjunction(filters: readonly Filter[], view: ChunkView): MatchResult {
  let result: MatchResult = "all";
  for (const filter of filters) {
    const part = matchFromStatistics(filter, view);
    if (part === "none") return "none";
    if (part === "some") result = "some";
  }
  return result;
}

function matchLeaf(filter: LeafFilter, view: ChunkView): MatchResult {
  const { field } = filter;
  if (field.kind === "time" || field.kind === "template") return "some";
  const index = view.header.columns.find(field.kind, field.kind === "attribute" ? field.key : "");
  const column = view.header.columns.get(index);
  if (column === undefined) {
    if (view.header.columns.find("rest") >= 0) return "some";
    return compileValueTest(filter)(undefined) ? "all" : "none";
  }
  const listed = view.listedValues(index);
  if (listed !== undefined) return matchListedValues(filter, listed, view.rows - column.present);
  if (isOutOfBounds(filter, column)) return "none";
  if (filter.kind === "matches" && field.kind === "message")
    return matchConjunction(planPattern(filter).necessary, view) === "none" ? "none" : "some";
  const isExcluded =
    isExcludedByMembership(filter, view) ||
    isExcludedByNgrams(filter, view) ||
    isExcludedByTokens(filter, view);
  return isExcluded ? "none" : "some";
}

/** `lacking`: rows that have no value. */
function matchListedValues(filter: LeafFilter, listed: readonly ListedValue[], lacking: number): MatchResult {
  const test = compileValueTest(filter);
  let [rows, passing] = [lacking, 0];
  for (const [value, count] of listed) {
    rows += count;
    if (test(value)) passing += count;
  }
  if (lacking > 0 && test(undefined)) passing += lacking;
  return passing === 0 ? "none" : passing === rows ? "all" : "some";
}

/** A column with bounds has only numbers, and its bounds are among its values. */
function isOutOfBounds(filter: LeafFilter, { min, max }: ColumnOutline): boolean {
  if (filter.kind !== "compares" || min === undefined || max === undefined) return false;
  const { op, number, unit } = filter;
  if (unit !== undefined) return true;
  return !compareNumbers(min, op, number) && !compareNumbers(max, op, number);
}

/** What a text search can look up in a chunk's n-gram and token filters; derived once per query. */
interface ChunkNeedle {
  ngrams: number[];
  tokens: LongToken[];
}

const needleCache = new WeakMap<Filter, ChunkNeedle>();

function needleOf(filter: Filter & { kind: "contains" }): ChunkNeedle {
  return getOrMake(needleCache, filter, () => {
    const text = Buffer.from(filter.text, "utf8");
    return { ngrams: findNgrams(text, NgramLength.messages), tokens: findLongTokens(text) };
  });
}

/** Whether the text has a letter n-gram that no message of the chunk has. */
function isExcludedByNgrams(filter: LeafFilter, view: ChunkView): boolean {
  if (filter.kind !== "contains" || filter.field.kind !== "message") return false;
  const wanted = needleOf(filter).ngrams;
  if (wanted.length === 0) return false;
  const ngramFilter = view.filter(filter.field);
  return ngramFilter !== undefined && !mayContainNgrams(ngramFilter, wanted);
}

/** Whether some long token of the text is in no group of variables. A long token lies within one variable. */
function isExcludedByTokens(filter: LeafFilter, view: ChunkView): boolean {
  if (filter.kind !== "contains" || filter.field.kind !== "message") return false;
  const { tokens } = needleOf(filter);
  if (tokens.length === 0) return false;
  if (view.header.columns.get(view.header.columns.find("message"))?.encoding !== "template")
    return view.plainTextFilter()?.mayContain({ ngrams: [], pieces: tokens.flat() }) === false;
  return tokens.some((token) => {
    return variableGroups.every((name, group) => {
      if (view.header.columns.find("variables", name) < 0) return true;
      return view.tokenFilter(group)?.mayContain(token) === false;
    });
  });
}

function isExcludedByMembership(filter: LeafFilter, view: ChunkView): boolean {
  if (filter.kind === "equals" && filter.value !== "" && filter.field.kind === "attribute") {
    const members = view.filter(filter.field);
    return members !== undefined && !mayContain(members, hashText(filter.value));
  }
  return false;
}
