import { type Matcher, printMatcher } from "./matcher.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

/** What stands behind a selector: it drops rows or reads attributes out of their messages, from left to right. */
export type Stage = LineFilter | JsonStage | LogfmtStage | PatternStage | RegexpStage | LabelFilter;

export type LineFilterOperator = "|=" | "!=" | "|~" | "!~";

/** A text to look for, as it is or, as `i"…"`, without regard to case. */
export interface LineFilterText {
  readonly kind: "lineFilterText";
  readonly text: StringLiteral;
  readonly ignoreCase: boolean;
}

export function makeLineFilterText(text: StringLiteral, ignoreCase: boolean): LineFilterText {
  return Object.freeze({ kind: "lineFilterText", text, ignoreCase });
}

/** `|= "text"`, `!= "text"`, `|~ "regex"`, `!~ "regex"` on the message (the name of a span); more texts follow with `or`. */
export interface LineFilter {
  readonly kind: "lineFilter";
  readonly operator: LineFilterOperator;
  readonly texts: readonly LineFilterText[];
}

export function makeLineFilter(operator: LineFilterOperator, texts: readonly LineFilterText[]): LineFilter {
  return Object.freeze({ kind: "lineFilter", operator, texts: Object.freeze([...texts]) });
}

function printLineFilter(node: LineFilter): string {
  return `${node.operator} ${node.texts.map(printLineFilterText).join(" or ")}`;
}

function printLineFilterText(node: LineFilterText): string {
  return `${node.ignoreCase ? "i" : ""}${printStringLiteral(node.text)}`;
}

/** `| json`: the members of a message that is a JSON object become attributes. */
export interface JsonStage {
  readonly kind: "json";
}

export const jsonStage: JsonStage = Object.freeze({ kind: "json" });

function printJsonStage(): string {
  return "| json";
}

/** `| logfmt`: the `key=value` pairs of a message become attributes. */
export interface LogfmtStage {
  readonly kind: "logfmt";
}

export const logfmtStage: LogfmtStage = Object.freeze({ kind: "logfmt" });

function printLogfmtStage(): string {
  return "| logfmt";
}

/** `| pattern "<ip> <_> <path>"`: captures between literal text become attributes. */
export interface PatternStage {
  readonly kind: "pattern";
  readonly pattern: StringLiteral;
}

export function makePatternStage(pattern: StringLiteral): PatternStage {
  return Object.freeze({ kind: "pattern", pattern });
}

function printPatternStage(node: PatternStage): string {
  return `| pattern ${printStringLiteral(node.pattern)}`;
}

/** `| regexp "took (?P<ms>[0-9]+)"`: named groups become attributes. */
export interface RegexpStage {
  readonly kind: "regexp";
  readonly pattern: StringLiteral;
}

export function makeRegexpStage(pattern: StringLiteral): RegexpStage {
  return Object.freeze({ kind: "regexp", pattern });
}

function printRegexpStage(node: RegexpStage): string {
  return `| regexp ${printStringLiteral(node.pattern)}`;
}

/** A condition on labels: a matcher, or others joined. `and` binds closer than `or`; `,` is `and`. */
export type LabelCondition = Matcher | JoinedConditions;

interface JoinedConditions {
  readonly kind: "and" | "or";
  /** Two or more, none of them of the same kind. */
  readonly of: readonly LabelCondition[];
}

/** `| status >= 500 and method = "GET"`. */
export interface LabelFilter {
  readonly kind: "labelFilter";
  readonly condition: LabelCondition;
}

export function makeLabelFilter(condition: LabelCondition): LabelFilter {
  return Object.freeze({ kind: "labelFilter", condition });
}

/** Joins conditions; a junction of the same kind among them is taken apart, and one condition stands for itself. */
export function joinConditions(kind: "and" | "or", of: readonly LabelCondition[]): LabelCondition {
  if (of.length === 1) return of[0]!;
  return Object.freeze({
    kind,
    of: Object.freeze(of.flatMap((each) => (each.kind === kind ? each.of : [each]))),
  });
}

function printLabelFilter(node: LabelFilter): string {
  return `| ${printCondition(node.condition)}`;
}

function printCondition(node: LabelCondition): string {
  if (node.kind === "matcher") return printMatcher(node);
  const parts = node.of.map((each) => {
    const printed = printCondition(each);
    return node.kind === "and" && each.kind === "or" ? `(${printed})` : printed;
  });
  return parts.join(` ${node.kind} `);
}

export function printStage(node: Stage): string {
  switch (node.kind) {
    case "lineFilter":
      return printLineFilter(node);
    case "json":
      return printJsonStage();
    case "logfmt":
      return printLogfmtStage();
    case "pattern":
      return printPatternStage(node);
    case "regexp":
      return printRegexpStage(node);
    case "labelFilter":
      return printLabelFilter(node);
  }
}
