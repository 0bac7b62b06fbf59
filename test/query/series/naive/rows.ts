/** Which rows a selector keeps, of any signal, and the texts of their labels. */
import { RE2JS } from "re2js";
import type { RowSignal } from "../../../../engine/index.ts";
import type { Expression } from "../../../../query/index.ts";
import { answer, labelValue } from "../../naive-search.ts";
import { type NaiveRow, RefusedError } from "./data.ts";

export type SelectorNode = Extract<Expression, { kind: "selector" }>;
export type MatcherNode = SelectorNode["matchers"][number];
type Stage = SelectorNode["stages"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
export type StringNode = MatcherNode["label"]["name"];

export function characters(text: StringNode): string {
  return text.parts
    .map((part) => {
      if (part.kind === "variable") throw new RefusedError("variable");
      return part.text;
    })
    .join("");
}

/** The number that a text denotes in decimal notation. */
export function decimal(text: string): number | undefined {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** The rows that pass, with what stages extracted among their attributes. */
export function selectRows(selector: SelectorNode, rows: readonly NaiveRow[]): NaiveRow[] {
  if (selector.of.kind !== "signal") return [];
  const signal = selector.of.name;
  for (const matcher of selector.matchers) check(matcher);
  for (const stage of selector.stages) checkStage(stage);
  return rows.flatMap((row) => {
    const asked = signal === "logs" ? answer(selector, row) : passed(selector, signal, row);
    return asked === undefined ? [] : [asked];
  });
}

/** The text of a label; the empty text where the row lacks it. */
export function textOf(signal: RowSignal, label: string, row: NaiveRow): string {
  return labelText(signal, label, row) ?? "";
}

function labelText(signal: RowSignal, label: string, row: NaiveRow): string | undefined {
  if (signal === "logs") return labelValue(label, row);
  if (label === "timestamp") return String(row.timeNs / 1_000_000n);
  const isBody = signal !== "traces" && (label === "body" || label === "message");
  return isBody ? row.message : row.attributes[label];
}

/** What text stages read. */
function lineOf(signal: RowSignal, row: NaiveRow): string {
  return signal === "traces" ? (row.attributes.name ?? "") : row.message;
}

function passed(selector: SelectorNode, signal: RowSignal, stored: NaiveRow): NaiveRow | undefined {
  const holds = (matcher: MatcherNode, row: NaiveRow) => {
    const label = characters(matcher.label.name);
    const isSearched = signal !== "traces" && (label === "body" || label === "message");
    return holdsText(matcher, labelText(signal, label, row), isSearched);
  };
  if (!selector.matchers.every((matcher) => holds(matcher, stored))) return undefined;
  let row = stored;
  for (const stage of selector.stages) {
    if (stage.kind === "lineFilter") {
      if (!passesLine(stage, lineOf(signal, stored))) return undefined;
    } else if (stage.kind === "labelFilter") {
      if (!holdsCondition(stage.condition, (matcher) => holds(matcher, row))) return undefined;
    } else row = extracted(stage, signal, stored, row);
  }
  return row;
}

/** What a stage reads out of the line, as the meaning of queries for logs has it. */
function extracted(stage: Stage, signal: RowSignal, stored: NaiveRow, row: NaiveRow): NaiveRow {
  const log = { ...stored, message: lineOf(signal, stored) };
  const found = answer(
    { kind: "selector", of: { kind: "signal", name: "logs" }, matchers: [], stages: [stage] },
    log,
  );
  return { ...row, attributes: { ...found?.attributes, ...row.attributes } };
}

function passesLine(stage: Extract<Stage, { kind: "lineFilter" }>, line: string): boolean {
  const any = stage.texts.some(({ text, ignoreCase }) => {
    const wanted = characters(text);
    if (stage.operator.endsWith("~"))
      return compiled(wanted, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
        .matcher(line)
        .find();
    return ignoreCase ? line.toLowerCase().includes(wanted.toLowerCase()) : line.includes(wanted);
  });
  return any !== stage.operator.startsWith("!");
}

function holdsCondition(condition: Condition, holds: (matcher: MatcherNode) => boolean): boolean {
  if (condition.kind === "matcher") return holds(condition);
  const each = (one: Condition) => holdsCondition(one, holds);
  return condition.kind === "and" ? condition.of.every(each) : condition.of.some(each);
}

/** Whether a matcher holds for a text; undefined where the label is not there. */
export function holdsText(matcher: MatcherNode, value: string | undefined, isSearched: boolean): boolean {
  const wanted = matcher.value.kind === "number" ? matcher.value.text : characters(matcher.value);
  const text = value ?? "";
  switch (matcher.operator) {
    case "=":
      return wanted === "*" || text === wanted;
    case "!=":
      return wanted === "*" ? value === undefined : text !== wanted;
    case "=~":
      return matches(wanted, text, isSearched);
    case "!~":
      return !matches(wanted, text, isSearched);
    default:
      return compares(decimal(text), matcher.operator, decimal(wanted));
  }
}

function matches(pattern: string, text: string, isSearched: boolean): boolean {
  const matcher = compiled(pattern, 0).matcher(text);
  return isSearched ? matcher.find() : matcher.matches();
}

function compares(left: number | undefined, sign: string, right: number | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  if (sign === ">") return left > right;
  if (sign === ">=") return left >= right;
  return sign === "<" ? left < right : left <= right;
}

/** Mistakes in a matcher, which count even where there is no row to hold it against. */
export function check(matcher: MatcherNode): void {
  const wanted = matcher.value.kind === "number" ? matcher.value.text : characters(matcher.value);
  if (matcher.operator.endsWith("~")) compiled(wanted, 0);
  else if (/[<>]/.test(matcher.operator) && decimal(wanted) === undefined)
    throw new RefusedError("not a number");
}

function checkStage(stage: Stage): void {
  if (stage.kind === "labelFilter") checkCondition(stage.condition);
  if (stage.kind === "regexp") compiled(characters(stage.pattern), 0);
  if (stage.kind !== "lineFilter") return;
  for (const needle of stage.texts) {
    const wanted = characters(needle.text);
    if (stage.operator.endsWith("~")) compiled(wanted, 0);
  }
}

function checkCondition(condition: Condition): void {
  if (condition.kind === "matcher") check(condition);
  else for (const each of condition.of) checkCondition(each);
}

function compiled(pattern: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(pattern, flags);
  } catch {
    throw new RefusedError("pattern");
  }
}
