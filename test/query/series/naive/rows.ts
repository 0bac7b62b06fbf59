/** Which rows a selector keeps, of any signal, and the texts of their labels. */
import { RE2JS } from "re2js";
import type { Expression } from "../../../../query/index.ts";
import { answer, labelValue } from "../../naive-search.ts";
import { Refused, type Row, type RowSignal } from "./data.ts";

export type Selector = Extract<Expression, { kind: "selector" }>;
export type Matcher = Selector["matchers"][number];
type Stage = Selector["stages"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
export type Text = Matcher["label"]["name"];

export function characters(text: Text): string {
  return text.parts
    .map((part) => {
      if (part.kind === "variable") throw new Refused("variable");
      return part.text;
    })
    .join("");
}

/** The number that a text denotes in decimal notation. */
export function decimal(text: string): number | undefined {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** The rows that pass, with what stages extracted among their attributes. */
export function selectRows(selector: Selector, rows: readonly Row[]): Row[] {
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
export function textOf(signal: RowSignal, label: string, row: Row): string {
  return labelText(signal, label, row) ?? "";
}

function labelText(signal: RowSignal, label: string, row: Row): string | undefined {
  if (signal === "logs") return labelValue(label, row);
  if (label === "timestamp") return String(row.timeNs / 1_000_000n);
  const isBody = signal !== "traces" && (label === "body" || label === "message");
  return isBody ? row.message : row.attributes[label];
}

/** What text stages read. */
function lineOf(signal: RowSignal, row: Row): string {
  return signal === "traces" ? (row.attributes.name ?? "") : row.message;
}

function passed(selector: Selector, signal: RowSignal, stored: Row): Row | undefined {
  const holds = (matcher: Matcher, row: Row) => {
    const label = characters(matcher.label.name);
    const isSearched = signal !== "traces" && (label === "body" || label === "message");
    return holdsText(matcher, labelText(signal, label, row), isSearched);
  };
  if (!selector.matchers.every((matcher) => holds(matcher, stored))) return undefined;
  let row = stored;
  for (const stage of selector.stages) {
    if (stage.kind === "line") {
      if (!passesLine(stage, lineOf(signal, stored))) return undefined;
    } else if (stage.kind === "labelFilter") {
      if (!holdsCondition(stage.condition, (matcher) => holds(matcher, row))) return undefined;
    } else row = extracted(stage, signal, stored, row);
  }
  return row;
}

/** What a stage reads out of the line, as the meaning of queries for logs has it. */
function extracted(stage: Stage, signal: RowSignal, stored: Row, row: Row): Row {
  const log = { ...stored, message: lineOf(signal, stored) };
  const found = answer(
    { kind: "selector", of: { kind: "signal", name: "logs" }, matchers: [], stages: [stage] },
    log,
  );
  return { ...row, attributes: { ...found?.attributes, ...row.attributes } };
}

function passesLine(stage: Extract<Stage, { kind: "line" }>, line: string): boolean {
  const any = stage.needles.some(({ text, ignoreCase }) => {
    const wanted = characters(text);
    if (stage.sign.endsWith("~"))
      return compiled(wanted, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
        .matcher(line)
        .find();
    return ignoreCase ? line.toLowerCase().includes(wanted.toLowerCase()) : line.includes(wanted);
  });
  return any !== stage.sign.startsWith("!");
}

function holdsCondition(condition: Condition, holds: (matcher: Matcher) => boolean): boolean {
  if (condition.kind === "matcher") return holds(condition);
  const each = (one: Condition) => holdsCondition(one, holds);
  return condition.kind === "and" ? condition.of.every(each) : condition.of.some(each);
}

/** Whether a matcher holds for a text; undefined where the label is not there. */
export function holdsText(matcher: Matcher, value: string | undefined, isSearched: boolean): boolean {
  const wanted = matcher.value.kind === "number" ? matcher.value.text : characters(matcher.value);
  const text = value ?? "";
  switch (matcher.comparison) {
    case "=":
      return wanted === "*" || text === wanted;
    case "!=":
      return wanted === "*" ? value === undefined : text !== wanted;
    case "=~":
      return matches(wanted, text, isSearched);
    case "!~":
      return !matches(wanted, text, isSearched);
    default:
      return compares(decimal(text), matcher.comparison, decimal(wanted));
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
export function check(matcher: Matcher): void {
  const wanted = matcher.value.kind === "number" ? matcher.value.text : characters(matcher.value);
  if (matcher.comparison.endsWith("~")) compiled(wanted, 0);
  else if (/[<>]/.test(matcher.comparison) && decimal(wanted) === undefined)
    throw new Refused("not a number");
}

function checkStage(stage: Stage): void {
  if (stage.kind === "labelFilter") checkCondition(stage.condition);
  if (stage.kind === "regexp") compiled(characters(stage.pattern), 0);
  if (stage.kind !== "line") return;
  for (const needle of stage.needles) {
    const wanted = characters(needle.text);
    if (stage.sign.endsWith("~")) compiled(wanted, 0);
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
    throw new Refused("pattern");
  }
}
