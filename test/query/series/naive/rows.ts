/** Selects rows of any signal by the tree of a selector, and reads their labels. */
import { RE2JS } from "re2js";
import type { RowSignal } from "../../../../engine/index.ts";
import type { Expression } from "../../../../query/index.ts";
import { compareQuantities } from "../../naive-quantity.ts";
import { evaluateSearch, labelValue } from "../../naive-search.ts";
import { type NaiveRow, RefusedError } from "./data.ts";

export type SelectorNode = Extract<Expression, { kind: "selector" }>;
export type MatcherNode = SelectorNode["matchers"][number];
type Stage = SelectorNode["stages"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
export type StringNode = MatcherNode["label"]["name"];

export function charactersOf(text: StringNode): string {
  return text.parts
    .map((part) => {
      if (part.kind === "variable") throw new RefusedError("variable");
      return part.text;
    })
    .join("");
}

/** The number of a text; undefined where it is not in decimal notation. */
export function parseDecimal(text: string): number | undefined {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** The rows that pass the selector. Their attributes include those that stages extracted. */
export function selectRows(selector: SelectorNode, rows: readonly NaiveRow[]): NaiveRow[] {
  if (selector.of.kind !== "signal") return [];
  const signal = selector.of.name;
  for (const matcher of selector.matchers) checkMatcher(matcher);
  for (const stage of selector.stages) checkStage(stage);
  return rows.flatMap((row) => {
    const selected = signal === "logs" ? evaluateSearch(selector, row) : evaluateRow(selector, signal, row);
    return selected === undefined ? [] : [selected];
  });
}

/** The text of a label; "" where the row lacks it. */
export function textOf(signal: RowSignal, label: string, row: NaiveRow): string {
  return textOfLabel(signal, label, row) ?? "";
}

function textOfLabel(signal: RowSignal, label: string, row: NaiveRow): string | undefined {
  if (signal === "logs") return labelValue(label, row);
  if (label === "timestamp") return String(row.timeNs / 1_000_000n);
  const isBody = signal !== "traces" && (label === "body" || label === "message");
  return isBody ? row.message : row.attributes[label];
}

/** The text that line filters read. */
function lineOf(signal: RowSignal, row: NaiveRow): string {
  return signal === "traces" ? (row.attributes.name ?? "") : row.message;
}

function evaluateRow(selector: SelectorNode, signal: RowSignal, stored: NaiveRow): NaiveRow | undefined {
  const holds = (matcher: MatcherNode, row: NaiveRow) => {
    const label = charactersOf(matcher.label.name);
    const isSearched = signal !== "traces" && (label === "body" || label === "message");
    return isMatcherMet(matcher, textOfLabel(signal, label, row), isSearched);
  };
  if (!selector.matchers.every((matcher) => holds(matcher, stored))) return undefined;
  let row = stored;
  for (const stage of selector.stages) {
    if (stage.kind === "lineFilter") {
      if (!isLineFilterMet(stage, lineOf(signal, stored))) return undefined;
    } else if (stage.kind === "labelFilter") {
      if (!isConditionMet(stage.condition, (matcher) => holds(matcher, row))) return undefined;
    } else row = applyExtraction(stage, signal, stored, row);
  }
  return row;
}

/** Applies an extraction stage, by evaluating a search for logs with this stage alone. */
function applyExtraction(stage: Stage, signal: RowSignal, stored: NaiveRow, row: NaiveRow): NaiveRow {
  const log = { ...stored, message: lineOf(signal, stored) };
  const found = evaluateSearch(
    { kind: "selector", of: { kind: "signal", name: "logs" }, matchers: [], stages: [stage] },
    log,
  );
  return { ...row, attributes: { ...found?.attributes, ...row.attributes } };
}

function isLineFilterMet(stage: Extract<Stage, { kind: "lineFilter" }>, line: string): boolean {
  const any = stage.texts.some(({ text, ignoreCase }) => {
    const expected = charactersOf(text);
    if (stage.operator.endsWith("~"))
      return compileOrRefuse(expected, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
        .matcher(line)
        .find();
    return ignoreCase ? line.toLowerCase().includes(expected.toLowerCase()) : line.includes(expected);
  });
  return any !== stage.operator.startsWith("!");
}

function isConditionMet(condition: Condition, holds: (matcher: MatcherNode) => boolean): boolean {
  if (condition.kind === "matcher") return holds(condition);
  const each = (one: Condition) => isConditionMet(one, holds);
  return condition.kind === "and" ? condition.of.every(each) : condition.of.some(each);
}

/** Returns whether a matcher matches a value, which is undefined where the row lacks the label. */
export function isMatcherMet(matcher: MatcherNode, value: string | undefined, isSearched: boolean): boolean {
  const expected = matcher.value.kind === "number" ? matcher.value.text : charactersOf(matcher.value);
  const text = value ?? "";
  switch (matcher.operator) {
    case "=":
      return expected === "*" || text === expected;
    case "!=":
      return expected === "*" ? value === undefined : text !== expected;
    case "=~":
      return isRegexpMatch(expected, text, isSearched);
    case "!~":
      return !isRegexpMatch(expected, text, isSearched);
    default:
      return (
        compareQuantities(withUnit(matcher, text), matcher.operator, expected) ??
        isComparisonTrue(parseDecimal(text), matcher.operator, parseDecimal(expected))
      );
  }
}

/** The duration of a span is milliseconds. */
function withUnit({ label }: MatcherNode, text: string): string {
  return charactersOf(label.name) === "duration_ms" && parseDecimal(text) !== undefined ? `${text}ms` : text;
}

function isRegexpMatch(pattern: string, text: string, isSearched: boolean): boolean {
  const matcher = compileOrRefuse(pattern, 0).matcher(text);
  return isSearched ? matcher.find() : matcher.matches();
}

function isComparisonTrue(left: number | undefined, sign: string, right: number | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  if (sign === ">") return left > right;
  if (sign === ">=") return left >= right;
  return sign === "<" ? left < right : left <= right;
}

/** Throws a RefusedError for a mistake in a matcher, which is refused even where there is no row to match. */
export function checkMatcher(matcher: MatcherNode): void {
  const expected = matcher.value.kind === "number" ? matcher.value.text : charactersOf(matcher.value);
  if (matcher.operator.endsWith("~")) compileOrRefuse(expected, 0);
  else if (
    /[<>]/.test(matcher.operator) &&
    parseDecimal(expected) === undefined &&
    compareQuantities("", ">", expected) === undefined
  )
    throw new RefusedError("not a number");
}

function checkStage(stage: Stage): void {
  if (stage.kind === "labelFilter") checkCondition(stage.condition);
  if (stage.kind === "regexp") compileOrRefuse(charactersOf(stage.pattern), 0);
  if (stage.kind !== "lineFilter") return;
  for (const { text } of stage.texts) {
    const expected = charactersOf(text);
    if (stage.operator.endsWith("~")) compileOrRefuse(expected, 0);
  }
}

function checkCondition(condition: Condition): void {
  if (condition.kind === "matcher") checkMatcher(condition);
  else for (const each of condition.of) checkCondition(each);
}

function compileOrRefuse(pattern: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(pattern, flags);
  } catch {
    throw new RefusedError("pattern");
  }
}
