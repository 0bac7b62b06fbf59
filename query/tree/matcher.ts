import { type Label, printLabel } from "./label.ts";
import { type NumberLiteral, printNumber } from "./number-literal.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

export type MatcherOperator = "=" | "!=" | "=~" | "!~" | ">" | ">=" | "<" | "<=";

/** `label = "value"` and similar, in braces, label filters and search terms. */
export interface Matcher {
  readonly kind: "matcher";
  readonly label: Label;
  readonly operator: MatcherOperator;
  readonly value: StringLiteral | NumberLiteral;
}

export function makeMatcher(
  label: Label,
  operator: MatcherOperator,
  value: StringLiteral | NumberLiteral,
): Matcher {
  return Object.freeze({ kind: "matcher", label, operator, value });
}

export function printMatcher(node: Matcher): string {
  return `${printLabel(node.label)}${node.operator}${printValue(node.value)}`;
}

function printValue(value: StringLiteral | NumberLiteral): string {
  if (value.kind === "number") return printNumber(value);
  const [only, ...more] = value.parts;
  return only?.kind === "variable" && more.length === 0 ? `$${only.name}` : printStringLiteral(value);
}
