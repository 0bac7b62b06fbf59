/** What a chunk's statistics say of a filter before any column is read. */
import type { ColumnHeader } from "../chunk/chunk-header.ts";
import { findColumn } from "../chunk/chunk-header.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Filter } from "../plan/filter.ts";
import { mayContainNgrams, ngramsOf, RunWidth } from "../template/ngram-filter.ts";
import { type LongToken, longTokensOf } from "../template/token-filter.ts";
import { variableGroups } from "../template/variable-columns.ts";
import { hashText, mayContain } from "../vector/membership-filter.ts";
import { planPattern } from "./pattern-search.ts";
import { compareNumbers, type LeafFilter, valueTest } from "./predicate.ts";

/** How many of the chunk's rows pass: all, none, or some as far as statistics can tell. */
export type MatchResult = "all" | "none" | "some";

export function matchFromStatistics(filter: Filter, view: ChunkView): MatchResult {
  switch (filter.kind) {
    case "always":
      return "all";
    case "never":
      return "none";
    case "not":
      return opposite[matchFromStatistics(filter.of, view)];
    case "and":
      return judgeAll(filter.of, view);
    case "or":
      return opposite[
        judgeAll(
          filter.of.map((of) => ({ kind: "not", of })),
          view,
        )
      ];
    default:
      return judgeLeaf(filter, view);
  }
}

/** The parts of a filter that statistics leave open: none of them where all rows pass; undefined where no row does. */
export function residualFilters(filter: Filter, view: ChunkView): Filter[] | undefined {
  const open: Filter[] = [];
  for (const part of conjuncts(filter)) {
    const verdict = matchFromStatistics(part, view);
    if (verdict === "none") return undefined;
    if (verdict === "some") open.push(part);
  }
  return open;
}

/** The parts of which each must hold. */
function conjuncts(filter: Filter): Filter[] {
  return filter.kind === "and" ? filter.of.flatMap(conjuncts) : [filter];
}

const opposite = { all: "none", none: "all", some: "some" } as const satisfies Record<
  MatchResult,
  MatchResult
>;

function judgeAll(filters: readonly Filter[], view: ChunkView): MatchResult {
  let verdict: MatchResult = "all";
  for (const filter of filters) {
    const part = matchFromStatistics(filter, view);
    if (part === "none") return "none";
    if (part === "some") verdict = "some";
  }
  return verdict;
}

function judgeLeaf(filter: LeafFilter, view: ChunkView): MatchResult {
  const { field } = filter;
  if (field.kind === "time" || field.kind === "template") return "some";
  const index = findColumn(view.header, field.kind, field.kind === "attribute" ? field.key : "");
  const column = view.header.columns[index];
  if (column === undefined) {
    if (findColumn(view.header, "rest") >= 0) return "some";
    return valueTest(filter)(undefined) ? "all" : "none";
  }
  if (column.values !== undefined) return judgeValues(filter, column, view.rows);
  if (outOfBounds(filter, column)) return "none";
  if (filter.kind === "matches" && field.kind === "message")
    return judgeAll(planPattern(filter).needs, view) === "none" ? "none" : "some";
  const isExcluded =
    excludedByMembership(filter, view) || excludedByNgrams(filter, view) || excludedByTokens(filter, view);
  return isExcluded ? "none" : "some";
}

function judgeValues(filter: LeafFilter, column: ColumnHeader, rows: number): MatchResult {
  const test = valueTest(filter);
  let passing = 0;
  for (const [value, count] of column.values!) if (test(value)) passing += count;
  if (column.present < rows && test(undefined)) passing += rows - column.present;
  return passing === 0 ? "none" : passing === rows ? "all" : "some";
}

/** A column with bounds holds numbers only; the bounds themselves are values of it. */
function outOfBounds(filter: LeafFilter, { min, max }: ColumnHeader): boolean {
  if (filter.kind !== "compares" || min === undefined || max === undefined) return false;
  const { op, number } = filter;
  return !compareNumbers(min, op, number) && !compareNumbers(max, op, number);
}

/** What of a text that messages are to hold can be looked up in the filters of chunks, worked out once a query. */
interface ChunkNeedle {
  ngrams: number[];
  tokens: LongToken[];
}

const needles = new WeakMap<Filter, ChunkNeedle>();

function needleOf(filter: Filter & { kind: "contains" }): ChunkNeedle {
  const known = needles.get(filter);
  if (known !== undefined) return known;
  const text = Buffer.from(filter.text, "utf8");
  const needle = { ngrams: ngramsOf(text, RunWidth.messages), tokens: longTokensOf(text) };
  needles.set(filter, needle);
  return needle;
}

/** A word with a run of letters that no message of the chunk has is in none of them. */
function excludedByNgrams(filter: LeafFilter, view: ChunkView): boolean {
  if (filter.kind !== "contains" || filter.field.kind !== "message") return false;
  const wanted = needleOf(filter).ngrams;
  if (wanted.length === 0) return false;
  const runs = view.filter(filter.field);
  return runs !== undefined && !mayContainNgrams(runs, wanted);
}

/** A long run of digits lies in the variables of one group, all in one block of them. */
function excludedByTokens(filter: LeafFilter, view: ChunkView): boolean {
  if (filter.kind !== "contains" || filter.field.kind !== "message") return false;
  if (view.header.columns[findColumn(view.header, "message")]?.encoding !== "template") return false;
  return needleOf(filter).tokens.some((token) => {
    return variableGroups.every((name, group) => {
      if (findColumn(view.header, "variables", name) < 0) return true;
      return view.tokenFilter(group)?.mayHold(token) === false;
    });
  });
}

function excludedByMembership(filter: LeafFilter, view: ChunkView): boolean {
  if (filter.kind === "equals" && filter.value !== "" && filter.field.kind === "attribute") {
    const members = view.filter(filter.field);
    return members !== undefined && !mayContain(members, hashText(filter.value));
  }
  return false;
}
