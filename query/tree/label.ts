import { reservedKeywords } from "../text/keywords.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

/** The name of a label. An unquoted name, a $variable and a string literal give the same kind of node. */
export interface Label {
  readonly kind: "label";
  readonly name: StringLiteral;
}

export function makeLabel(name: StringLiteral): Label {
  return Object.freeze({ kind: "label", name });
}

const unquotedLabel = /^[A-Za-z_][A-Za-z0-9_]*(?:[./:-]+[A-Za-z0-9_]+)*$/;
/**
 * Matches a field that needs no quotes. An argument of an aggregation is lexed as part of an expression, where `/` and
 * `-` are operators.
 */
const unquotedField = /^[A-Za-z_][A-Za-z0-9_:.]*$/;

/** Prints a label of braces, groupings and label filters. */
export function printLabel(node: Label): string {
  return printName(node, unquotedLabel);
}

/** Prints a label that is an argument of an aggregation. */
export function printField(node: Label): string {
  return printName(node, unquotedField);
}

function printName(node: Label, unquoted: RegExp): string {
  const [only, ...more] = node.name.parts;
  if (only === undefined || more.length > 0) return printStringLiteral(node.name);
  if (only.kind === "variable") return `$${only.name}`;
  const needsNoQuotes = unquoted.test(only.text) && !reservedKeywords.has(only.text);
  return needsNoQuotes ? only.text : printStringLiteral(node.name);
}
