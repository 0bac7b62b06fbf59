import { type Label, printLabel } from "./label.ts";
import { type NumberLiteral, printNumber } from "./number-literal.ts";
import { printText, type Text } from "./string-literal.ts";

export type Comparison = "=" | "!=" | "=~" | "!~" | ">" | ">=" | "<" | "<=";

/** `label = "value"` and its kin, in braces and in label filters. */
export interface Matcher {
  readonly kind: "matcher";
  readonly label: Label;
  readonly comparison: Comparison;
  readonly value: Text | NumberLiteral;
}

export function matcher(label: Label, comparison: Comparison, value: Text | NumberLiteral): Matcher {
  return Object.freeze({ kind: "matcher", label, comparison, value });
}

export function printMatcher(node: Matcher): string {
  return `${printLabel(node.label)}${node.comparison}${printValue(node.value)}`;
}

function printValue(value: Text | NumberLiteral): string {
  if (value.kind === "number") return printNumber(value);
  const [only, ...more] = value.parts;
  return only?.kind === "variable" && more.length === 0 ? `$${only.name}` : printText(value);
}
