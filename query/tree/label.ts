import { reservedKeywords } from "../text/keywords.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";

/** The name of a label: a bare name, a $variable, or a text in quotes. All three are the same node. */
export interface Label {
  readonly kind: "label";
  readonly name: StringLiteral;
}

export function makeLabel(name: StringLiteral): Label {
  return Object.freeze({ kind: "label", name });
}

const unquotedLabel = /^[A-Za-z_][A-Za-z0-9_]*(?:[./:-]+[A-Za-z0-9_]+)*$/;
/** Between series a name has no `/` and no `-`. */
const unquotedField = /^[A-Za-z_][A-Za-z0-9_:.]*$/;

/** Prints a label as it stands in braces, groupings and label filters. */
export function printLabel(node: Label): string {
  return printName(node, unquotedLabel);
}

/** Prints a label as it stands among the arguments of an aggregation. */
export function printField(node: Label): string {
  return printName(node, unquotedField);
}

function printName(node: Label, bare: RegExp): string {
  const [only, ...more] = node.name.parts;
  if (only === undefined || more.length > 0) return printStringLiteral(node.name);
  if (only.kind === "variable") return `$${only.name}`;
  return bare.test(only.text) && !reservedKeywords.has(only.text) ? only.text : printStringLiteral(node.name);
}
