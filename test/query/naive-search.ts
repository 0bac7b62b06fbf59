/**
 * Evaluates searches row by row from their syntax tree, as query/README.md defines them. It uses no plan, so that plans
 * can be checked against it. Only extraction is left to the naive evaluator of steps, which the examples of the
 * reference test.
 */
import { RE2JS } from "re2js";
import type { LogRow, PatternPart } from "../../engine/index.ts";
import type { Expression, SearchTerms } from "../../query/index.ts";
import { rangeOf, runSteps } from "./naive.ts";
import { compareQuantities } from "./naive-quantity.ts";
import { templateId } from "./templates.ts";

type Selector = Extract<Expression, { kind: "selector" }>;
type Stage = Selector["stages"][number];
type Matcher = Selector["matchers"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
type Text = Matcher["label"]["name"];

/** The row as the query returns it; undefined where it does not match. */
export function evaluateSearch<Row extends LogRow>(tree: Selector | SearchTerms, row: Row): Row | undefined {
  if (tree.kind === "terms") {
    return tree.alternatives.some((all) => all.every((one) => isTermMet(one, row))) ? row : undefined;
  }
  if (!tree.matchers.every((each) => isMatcherMet(each, row))) return undefined;
  return tree.stages.reduce<Row | undefined>(
    (kept, stage) => (kept === undefined ? undefined : applyStage(stage, kept, row)),
    row,
  );
}

function applyStage<Row extends LogRow>(stage: Stage, row: Row, stored: Row): Row | undefined {
  switch (stage.kind) {
    case "lineFilter": {
      const any = stage.texts.some(({ text, ignoreCase }) => {
        const expected = charactersOf(text);
        if (stage.operator.endsWith("~"))
          return RE2JS.compile(expected, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
            .matcher(row.message)
            .find();
        return ignoreCase ? toLower(row.message).includes(toLower(expected)) : row.message.includes(expected);
      });
      return any !== stage.operator.startsWith("!") ? row : undefined;
    }
    case "labelFilter":
      return isConditionMet(stage.condition, row) ? row : undefined;
    case "assign":
    case "keep":
    case "sequence":
    case "join":
    case "lineFormat":
    case "labelFormat":
      throw new Error("the evaluator of steps tests these stages");
    default: {
      const [extracted] = runSteps([{ kind: "extract", extractor: extractorOf(stage) }], [stored]);
      return { ...row, attributes: { ...extracted!.attributes, ...row.attributes } };
    }
  }
}

type ExtractionStage = Extract<Stage, { kind: "json" | "logfmt" | "pattern" | "regexp" }>;

function extractorOf(stage: ExtractionStage) {
  if (stage.kind === "regexp") return { kind: "regexp", pattern: charactersOf(stage.pattern) } as const;
  if (stage.kind === "pattern")
    return { kind: "pattern", parts: parsePattern(charactersOf(stage.pattern)) } as const;
  return { kind: stage.kind };
}

function parsePattern(pattern: string): PatternPart[] {
  return pattern
    .split(/(<[A-Za-z_][A-Za-z0-9_.]*>)/)
    .filter((part) => part !== "")
    .map((part, _index): PatternPart => {
      const name = /^<([A-Za-z_][A-Za-z0-9_.]*)>$/.exec(part)?.[1];
      if (name === undefined) return { kind: "literal", text: part };
      return { kind: "capture", name: name === "_" ? null : name };
    });
}

function isConditionMet(condition: Condition, row: LogRow): boolean {
  if (condition.kind === "matcher") return isMatcherMet(condition, row);
  if (condition.kind === "and") return condition.of.every((each) => isConditionMet(each, row));
  return condition.of.some((each) => isConditionMet(each, row));
}

function isTermMet({ excluded, of }: SearchTerms["alternatives"][number][number], row: LogRow): boolean {
  return isContentMet(of, row) !== excluded;
}

function isContentMet(of: SearchTerms["alternatives"][number][number]["of"], row: LogRow): boolean {
  if (of.kind === "matcher") return isMatcherMet(of, row);
  if (of.kind === "terms") return of.alternatives.some((all) => all.every((one) => isTermMet(one, row)));
  const [message, text] = [toLower(row.message), toLower(of.text)];
  if (of.kind === "phrase") return message.includes(text);
  for (let at = message.indexOf(text); at >= 0; at = message.indexOf(text, at + 1))
    if (at === 0 || !/[\p{L}\p{N}_]$/u.test(message.slice(0, at))) return true;
  return false;
}

function isMatcherMet(matcher: Matcher, row: LogRow): boolean {
  const label = charactersOf(matcher.label.name);
  const expected = matcher.value.kind === "number" ? matcher.value.text : charactersOf(matcher.value);
  const value = labelValue(label, row);
  const text = value ?? "";
  switch (matcher.operator) {
    case "=":
      return expected === "*" || isSameText(label, text, expected);
    case "!=":
      return expected === "*" ? value === undefined : !isSameText(label, text, expected);
    case "=~":
      return isRegexpMatch(label, text, expected);
    case "!~":
      return !isRegexpMatch(label, text, expected);
    default:
      return (
        compareQuantities(text, matcher.operator, expected) ??
        (isNumber(text) && compare(Number(text), matcher.operator, Number(expected)))
      );
  }
}

/**
 * The text of a label; undefined where the row lacks it. A row with an empty level lacks it. Every row has a message
 * and a time.
 */
export function labelValue(label: string, row: LogRow): string | undefined {
  if (label === "message") return row.message;
  if (label === "template") return templateId(row.message);
  if (label === "timestamp") return String(row.timeNs / 1_000_000n);
  if (label === "log_level") return row.level === "" ? undefined : row.level.toLowerCase();
  const columnLike = /^attributes\.(message|log_level|timestamp|template)$/.exec(label)?.[1];
  const key = columnLike ?? label;
  return Object.hasOwn(row.attributes, key) ? row.attributes[key] : undefined;
}

/** Whether a label's text is the one that a query asks for. */
export function isSameText(label: string, text: string, expected: string): boolean {
  if (label !== "log_level") return text === expected;
  return [text, rangeOf(text)].includes(expected.toLowerCase());
}

function isRegexpMatch(label: string, text: string, pattern: string): boolean {
  const isLevel = label === "log_level";
  const regexp = RE2JS.compile(pattern, isLevel ? RE2JS.CASE_INSENSITIVE : 0);
  if (label === "message") return regexp.matcher(text).find();
  return regexp.matches(text) || (isLevel && regexp.matches(rangeOf(text) ?? text));
}

function isNumber(text: string): boolean {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text);
}

function compare(left: number, sign: string, right: number): boolean {
  if (sign === ">") return left > right;
  if (sign === ">=") return left >= right;
  return sign === "<" ? left < right : left <= right;
}

function charactersOf(text: Text): string {
  return text.parts.map((part) => (part.kind === "characters" ? part.text : "")).join("");
}

function toLower(text: string): string {
  return [...text]
    .map((character) => {
      const small = character.toLowerCase();
      const ascii = (each: string) => each.codePointAt(0)! < 128;
      return [...small].length === 1 && ascii(small) === ascii(character) ? small : character;
    })
    .join("");
}
