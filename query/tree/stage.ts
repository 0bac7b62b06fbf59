import { type Matcher, printMatcher } from "./matcher.ts";
import { printText, type Text } from "./string-literal.ts";

/** What stands behind a selector: it drops rows or reads attributes out of their messages, from left to right. */
export type Stage = LineStage | JsonStage | LogfmtStage | PatternStage | RegexpStage | LabelFilter;

export type LineSign = "|=" | "!=" | "|~" | "!~";

/** A text to look for, as it is or, as `i"…"`, without regard to case. */
export interface Needle {
  readonly kind: "needle";
  readonly text: Text;
  readonly ignoreCase: boolean;
}

export function needle(text: Text, ignoreCase: boolean): Needle {
  return Object.freeze({ kind: "needle", text, ignoreCase });
}

/** `|= "text"`, `!= "text"`, `|~ "regex"`, `!~ "regex"` on the message (the name of a span); more texts follow with `or`. */
export interface LineStage {
  readonly kind: "line";
  readonly sign: LineSign;
  readonly needles: readonly Needle[];
}

export function lineStage(sign: LineSign, needles: readonly Needle[]): LineStage {
  return Object.freeze({ kind: "line", sign, needles: Object.freeze([...needles]) });
}

function printLineStage(node: LineStage): string {
  return `${node.sign} ${node.needles.map(printNeedle).join(" or ")}`;
}

function printNeedle(node: Needle): string {
  return `${node.ignoreCase ? "i" : ""}${printText(node.text)}`;
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
  readonly pattern: Text;
}

export function patternStage(pattern: Text): PatternStage {
  return Object.freeze({ kind: "pattern", pattern });
}

function printPatternStage(node: PatternStage): string {
  return `| pattern ${printText(node.pattern)}`;
}

/** `| regexp "took (?P<ms>[0-9]+)"`: named groups become attributes. */
export interface RegexpStage {
  readonly kind: "regexp";
  readonly pattern: Text;
}

export function regexpStage(pattern: Text): RegexpStage {
  return Object.freeze({ kind: "regexp", pattern });
}

function printRegexpStage(node: RegexpStage): string {
  return `| regexp ${printText(node.pattern)}`;
}

/** A condition on labels: a matcher, or others joined. `and` binds closer than `or`; `,` is `and`. */
export type Condition = Matcher | Junction;

interface Junction {
  readonly kind: "and" | "or";
  /** Two or more, none of them of the same kind. */
  readonly of: readonly Condition[];
}

/** `| status >= 500 and method = "GET"`. */
export interface LabelFilter {
  readonly kind: "labelFilter";
  readonly condition: Condition;
}

export function labelFilter(condition: Condition): LabelFilter {
  return Object.freeze({ kind: "labelFilter", condition });
}

/** Joins conditions; a junction of the same kind among them is taken apart, and one condition stands for itself. */
export function junction(kind: "and" | "or", of: readonly Condition[]): Condition {
  if (of.length === 1) return of[0]!;
  return Object.freeze({
    kind,
    of: Object.freeze(of.flatMap((each) => (each.kind === kind ? each.of : [each]))),
  });
}

function printLabelFilter(node: LabelFilter): string {
  return `| ${printCondition(node.condition)}`;
}

function printCondition(node: Condition): string {
  if (node.kind === "matcher") return printMatcher(node);
  const parts = node.of.map((each) => {
    const printed = printCondition(each);
    return node.kind === "and" && each.kind === "or" ? `(${printed})` : printed;
  });
  return parts.join(` ${node.kind} `);
}

export function printStage(node: Stage): string {
  switch (node.kind) {
    case "line":
      return printLineStage(node);
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
