import { type Label, printLabel } from "./label.ts";
import { type Matcher, printMatcher } from "./matcher.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

/** A stage that looks at one row at a time: it drops the row, extracts attributes from its message, or writes texts into it. */
export type RowStage =
  | LineFilter
  | JsonStage
  | LogfmtStage
  | PatternStage
  | RegexpStage
  | LabelFilter
  | LineFormat
  | LabelFormat;

export type LineFilterOperator = "|=" | "!=" | "|~" | "!~";

/** A text or regular expression of a line filter. `i"…"` ignores case. */
export interface LineFilterText {
  readonly kind: "lineFilterText";
  readonly text: StringLiteral;
  readonly ignoreCase: boolean;
}

export function makeLineFilterText(text: StringLiteral, ignoreCase: boolean): LineFilterText {
  return Object.freeze({ kind: "lineFilterText", text, ignoreCase });
}

/**
 * A filter on messages: `|= "text" or "other"` contains, `!=` does not contain, `|~` matches, `!~` does not match. For
 * spans it filters their names.
 */
export interface LineFilter {
  readonly kind: "lineFilter";
  readonly operator: LineFilterOperator;
  readonly texts: readonly LineFilterText[];
}

export function makeLineFilter(operator: LineFilterOperator, texts: readonly LineFilterText[]): LineFilter {
  return Object.freeze({ kind: "lineFilter", operator, texts: Object.freeze([...texts]) });
}

/** `| json`: the members of a message that is a JSON object become attributes. */
export interface JsonStage {
  readonly kind: "json";
}

export const jsonStage: JsonStage = Object.freeze({ kind: "json" });

/** `| logfmt`: the `key=value` pairs of a message become attributes. */
export interface LogfmtStage {
  readonly kind: "logfmt";
}

export const logfmtStage: LogfmtStage = Object.freeze({ kind: "logfmt" });

/** `| pattern "<ip> <_> <path>"`: what the captures between literal texts match becomes attributes. */
export interface PatternStage {
  readonly kind: "pattern";
  readonly pattern: StringLiteral;
}

export function makePatternStage(pattern: StringLiteral): PatternStage {
  return Object.freeze({ kind: "pattern", pattern });
}

/** `| regexp "took (?P<ms>[0-9]+)"`: what the named groups match becomes attributes. */
export interface RegexpStage {
  readonly kind: "regexp";
  readonly pattern: StringLiteral;
}

export function makeRegexpStage(pattern: StringLiteral): RegexpStage {
  return Object.freeze({ kind: "regexp", pattern });
}

/** A matcher, or several conditions joined by `and` or `or`. `,` is `and`, which binds closer than `or`. */
export type LabelCondition = Matcher | JoinedConditions;

interface JoinedConditions {
  readonly kind: "and" | "or";
  /** Two or more. None has the same kind: an `and` within an `and` is flattened. */
  readonly of: readonly LabelCondition[];
}

/** A filter on labels, such as `| status >= 500 and method = "GET"`. */
export interface LabelFilter {
  readonly kind: "labelFilter";
  readonly condition: LabelCondition;
}

export function makeLabelFilter(condition: LabelCondition): LabelFilter {
  return Object.freeze({ kind: "labelFilter", condition });
}

/** `| line_format "{{.method}} {{.path}}"`: another message, made of the labels of the row. */
export interface LineFormat {
  readonly kind: "lineFormat";
  readonly template: StringLiteral;
}

export function makeLineFormat(template: StringLiteral): LineFormat {
  return Object.freeze({ kind: "lineFormat", template });
}

/** `new = old` moves the text of a label, `new = "…"` makes one. */
export interface FormattedLabel {
  readonly label: Label;
  readonly from: Label | StringLiteral;
}

/** `| label_format route = path, text = "{{.a}} {{.b}}"`: labels that are moved, or made of others. */
export interface LabelFormat {
  readonly kind: "labelFormat";
  readonly labels: readonly FormattedLabel[];
}

export function makeLabelFormat(labels: readonly FormattedLabel[]): LabelFormat {
  return Object.freeze({
    kind: "labelFormat",
    labels: Object.freeze(labels.map((each) => Object.freeze(each))),
  });
}

/**
 * Joins conditions by `and` or `or`. Flattens conditions that are joined by the same word. Returns a single condition
 * as it is.
 */
export function joinConditions(kind: "and" | "or", of: readonly LabelCondition[]): LabelCondition {
  if (of.length === 1) return of[0]!;
  return Object.freeze({
    kind,
    of: Object.freeze(of.flatMap((each) => (each.kind === kind ? each.of : [each]))),
  });
}

function printCondition(node: LabelCondition): string {
  if (node.kind === "matcher") return printMatcher(node);
  const parts = node.of.map((each) => {
    const printed = printCondition(each);
    return node.kind === "and" && each.kind === "or" ? `(${printed})` : printed;
  });
  return parts.join(` ${node.kind} `);
}

export function printRowStage(node: RowStage): string {
  switch (node.kind) {
    case "lineFilter":
    case "labelFilter":
      return printFilterStage(node);
    case "json":
    case "logfmt":
      return `| ${node.kind}`;
    case "pattern":
    case "regexp":
      return `| ${node.kind} ${printStringLiteral(node.pattern)}`;
    case "lineFormat":
      return `| line_format ${printStringLiteral(node.template)}`;
    case "labelFormat":
      return `| label_format ${node.labels.map(printFormattedLabel).join(", ")}`;
  }
}

function printFormattedLabel({ label, from }: FormattedLabel): string {
  return `${printLabel(label)} = ${from.kind === "label" ? printLabel(from) : printStringLiteral(from)}`;
}

export function printFilterStage(node: LineFilter | LabelFilter): string {
  if (node.kind === "labelFilter") return `| ${printCondition(node.condition)}`;
  return `${node.operator} ${node.texts.map(printLineFilterText).join(" or ")}`;
}

function printLineFilterText(node: LineFilterText): string {
  return `${node.ignoreCase ? "i" : ""}${printStringLiteral(node.text)}`;
}
