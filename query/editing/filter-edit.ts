/** Filters that a click adds to a query or takes away: edits of its syntax tree, printed back as text. */

import type { RowSignal } from "../../engine/index.ts";
import { parseLogsQuery } from "../parse/logs-query.ts";
import { parseExpression } from "../parse/parser.ts";
import { readSource } from "../text/source.ts";
import { type Expression, printExpression } from "../tree/expression.ts";
import { makeLabel } from "../tree/label.ts";
import { type Matcher, makeMatcher } from "../tree/matcher.ts";
import {
  makePhrase,
  makeSearchTerm,
  makeSearchTerms,
  printSearchTerms,
  type SearchTerm,
  type SearchTerms,
} from "../tree/search-terms.ts";
import {
  isOrderedStage,
  makeSelector,
  type Stage,
  type TelemetrySelector,
  timesOf,
} from "../tree/selector.ts";
import {
  joinConditions,
  type LabelCondition,
  makeLabelFilter,
  makeLineFilter,
  makeLineFilterText,
} from "../tree/stage.ts";
import { makePlainString, type StringLiteral } from "../tree/string-literal.ts";

/**
 * What a click asks for. `include`: only rows with the value. `exclude`: only rows without it. `only`: as `include`, and
 * other filters on the field go. An empty value stands for rows that lack the field.
 */
export type FilterAction = "include" | "exclude" | "only";

/** A filter on a field by its exact value. */
export interface FieldEdit {
  readonly field: string;
  readonly value: string;
  readonly action: FilterAction;
}

/** A filter on messages that contain a text, case and all. */
export interface TextEdit {
  readonly text: string;
  readonly action: Exclude<FilterAction, "only">;
}

/** A filter that stands in a query by itself: all rows found pass it. */
export interface StandingFilter {
  readonly field: string;
  readonly value: string;
  readonly isExcluded: boolean;
}

/**
 * The query with a filter more, or less: what is there already is taken away again, and a filter that says the opposite
 * is replaced. A filter on a field goes into every selector of the query. `{…}` and an empty query select rows of
 * `signal`. Throws a QueryError where the query does not parse.
 */
export function editQuery(text: string, edit: FieldEdit | TextEdit, signal: RowSignal = "logs"): string {
  const tree = parse(text, signal);
  if (tree.kind === "terms") return printSearchTerms(editTerms(tree, edit));
  return printExpression(mapSelectors(tree, (selector) => editSelector(selector, edit)));
}

/** The filters on fields that stand in a query by themselves, in its order. Throws a QueryError. */
export function filtersOf(text: string, signal: RowSignal = "logs"): StandingFilter[] {
  const tree = parse(text, signal);
  if (tree.kind === "selector") return matchersOf(tree).flatMap((matcher) => standingOf(matcher, false));
  if (tree.kind !== "terms") return [];
  const [first = [], ...others] = tree.alternatives.map((terms) =>
    terms.flatMap(({ of, excluded }) => (of.kind === "matcher" ? standingOf(of, excluded) : [])),
  );
  return first.filter((filter) => others.every((filters) => filters.some((each) => isEqual(each, filter))));
}

function isEqual(a: StandingFilter, b: StandingFilter): boolean {
  return a.field === b.field && a.value === b.value && a.isExcluded === b.isExcluded;
}

function parse(text: string, signal: RowSignal): Expression | SearchTerms {
  const source = readSource(text);
  return signal === "logs" ? parseLogsQuery(source).tree : parseExpression(source, signal);
}

function standingOf({ label, operator, value }: Matcher, excluded: boolean): StandingFilter[] {
  if (value.kind === "number") return [];
  const [field, plain] = [plainText(label.name), plainText(value)];
  if (field === undefined || plain === undefined) return [];
  const isExcluded = excluded !== operator.startsWith("!");
  if (plain === starPattern && /^[=!]~$/.test(operator)) return [{ field, value: "*", isExcluded }];
  // `="*"` says that any value will do.
  return plain !== "*" && /^!?=$/.test(operator) ? [{ field, value: plain, isExcluded }] : [];
}

/** Matches the value `*`, which `=` does not. */
const starPattern = "^\\*$";

/** The matcher of a field's exact value. */
function matcherOf({ field, value }: FieldEdit, isExcluded: boolean): Matcher {
  const [operator, text] = value === "*" ? (["=~", starPattern] as const) : (["=", value] as const);
  const negated = operator === "=~" ? "!~" : "!=";
  return makeMatcher(
    makeLabel(makePlainString(field)),
    isExcluded ? negated : operator,
    makePlainString(text),
  );
}

/** The characters of a literal without variables; undefined for others. */
function plainText({ parts }: StringLiteral): string | undefined {
  if (parts.some(({ kind }) => kind === "variable")) return undefined;
  return parts.map((part) => (part.kind === "characters" ? part.text : "")).join("");
}

/** Replaces every selector of an expression. */
function mapSelectors(
  node: Expression,
  change: (selector: TelemetrySelector) => TelemetrySelector,
): Expression {
  switch (node.kind) {
    case "selector":
      return change(node);
    case "operation":
      return { ...node, left: mapSelectors(node.left, change), right: mapSelectors(node.right, change) };
    case "function": {
      const args = node.args.map((arg) => (arg.kind === "string" ? arg : mapSelectors(arg, change)));
      return { ...node, args };
    }
    case "negation":
    case "aggregate":
    case "rangeFunction":
    case "jsonPath":
      return { ...node, of: mapSelectors(node.of, change) } as Expression;
    default:
      return node;
  }
}

// Structured queries

function editSelector(selector: TelemetrySelector, edit: FieldEdit | TextEdit): TelemetrySelector {
  return "text" in edit ? editLineFilters(selector, edit) : editMatchers(selector, edit);
}

function editMatchers(selector: TelemetrySelector, edit: FieldEdit): TelemetrySelector {
  const { field, value, action } = edit;
  const isExcluded = action === "exclude";
  const isOf = (matcher: Matcher, wanted: boolean) =>
    standingOf(matcher, false).some(
      (filter) => filter.field === field && filter.value === value && filter.isExcluded === wanted,
    );
  const isThere = action !== "only" && matchersOf(selector).some((matcher) => isOf(matcher, isExcluded));
  const goes = (matcher: Matcher) =>
    action === "only" ? plainText(matcher.label.name) === field : isOf(matcher, true) || isOf(matcher, false);
  const matchers = selector.matchers.filter((matcher) => !goes(matcher));
  const stages = selector.stages.flatMap((stage) => withoutMatchers(stage, goes));
  const times = timesOf(selector);
  if (isThere) return makeSelector(selector.of, matchers, stages, times);
  const added = matcherOf(edit, isExcluded);
  // A stage may give the field another value, which the rows show, or look at rows that the filter leaves out.
  return stages.every(isFilter)
    ? makeSelector(selector.of, [...matchers, added], stages, times)
    : makeSelector(selector.of, matchers, addBehind(stages, makeLabelFilter(added)), times);
}

/** Matchers that every row must pass: those in the braces, and those of stages that no `or` joins. */
function matchersOf({ matchers, stages }: TelemetrySelector): Matcher[] {
  return [
    ...matchers,
    ...stages.flatMap((stage) => (stage.kind === "labelFilter" ? matchersOfCondition(stage.condition) : [])),
  ];
}

function matchersOfCondition(condition: LabelCondition): Matcher[] {
  if (condition.kind === "matcher") return [condition];
  return condition.kind === "and" ? condition.of.flatMap(matchersOfCondition) : [];
}

/** The stage without some of the matchers that every row must pass; none where nothing is left of it. */
function withoutMatchers(stage: Stage, goes: (matcher: Matcher) => boolean): Stage[] {
  if (stage.kind !== "labelFilter") return [stage];
  const { condition } = stage;
  const all = condition.kind === "and" ? condition.of : [condition];
  const kept = all.filter((each) => each.kind !== "matcher" || !goes(each));
  if (kept.length === all.length) return [stage];
  return kept.length === 0 ? [] : [makeLabelFilter(joinConditions("and", kept))];
}

function isFilter({ kind }: Stage): boolean {
  return kind === "lineFilter" || kind === "labelFilter";
}

/** Adds a filter at the end; with stages over several rows before the texts at the end, after which nothing else stands. */
function addBehind(stages: readonly Stage[], filter: Stage): Stage[] {
  if (!stages.some(isOrderedStage)) return [...stages, filter];
  const place = stages.findLastIndex(({ kind }) => kind !== "lineFormat" && kind !== "labelFormat") + 1;
  return [...stages.slice(0, place), filter, ...stages.slice(place)];
}

function editLineFilters(selector: TelemetrySelector, { text, action }: TextEdit): TelemetrySelector {
  const operator = action === "include" ? "|=" : "!=";
  const isOf = (stage: Stage, wanted?: string) =>
    stage.kind === "lineFilter" &&
    (wanted === undefined ? stage.operator === "|=" || stage.operator === "!=" : stage.operator === wanted) &&
    stage.texts.length === 1 &&
    !stage.texts[0]!.ignoreCase &&
    plainText(stage.texts[0]!.text) === text;
  const isThere = selector.stages.some((stage) => isOf(stage, operator));
  const stages = selector.stages.filter((stage) => !isOf(stage));
  const times = timesOf(selector);
  if (isThere) return makeSelector(selector.of, selector.matchers, stages, times);
  const added = makeLineFilter(operator, [makeLineFilterText(makePlainString(text), false)]);
  const changed = stages.some(isOrderedStage) ? addBehind(stages, added) : [added, ...stages];
  return makeSelector(selector.of, selector.matchers, changed, times);
}

// Search terms

/** Changes each alternative. Where nothing would be left of one, all rows are found. */
function editTerms(tree: SearchTerms, edit: FieldEdit | TextEdit): SearchTerms {
  const alternatives = tree.alternatives.map((terms) => editAlternative(terms, edit));
  return makeSearchTerms(alternatives.some((terms) => terms.length === 0) ? [[]] : alternatives);
}

function editAlternative(terms: readonly SearchTerm[], edit: FieldEdit | TextEdit): SearchTerm[] {
  const isExcluded = edit.action === "exclude";
  const sense = (term: SearchTerm) => senseOf(term, edit);
  const isThere = edit.action !== "only" && terms.some((term) => sense(term) === (isExcluded ? -1 : 1));
  const kept = terms.filter((term) => (edit.action === "only" ? !isOnField(term, edit) : sense(term) === 0));
  if (isThere) return kept;
  const added = "text" in edit ? makePhrase(edit.text) : matcherOf(edit, false);
  return [...kept, makeSearchTerm(added, isExcluded)];
}

/** 1 where a term includes what the edit is about, -1 where it excludes it, 0 where it is about something else. */
function senseOf({ of, excluded }: SearchTerm, edit: FieldEdit | TextEdit): 1 | -1 | 0 {
  if (of.kind === "prefix" || of.kind === "terms") return 0;
  if (of.kind === "phrase") return "text" in edit && of.text === edit.text ? (excluded ? -1 : 1) : 0;
  if ("text" in edit) return 0;
  const [filter] = standingOf(of, excluded);
  if (filter?.field !== edit.field || filter.value !== edit.value) return 0;
  return filter.isExcluded ? -1 : 1;
}

function isOnField({ of }: SearchTerm, edit: FieldEdit | TextEdit): boolean {
  return of.kind === "matcher" && "field" in edit && plainText(of.label.name) === edit.field;
}
