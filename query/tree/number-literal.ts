import { quantityPattern } from "../text/tokens.ts";

/** A number as it is written, in decimal notation. Only the value of a matcher has a sign, or a unit (`20ms`, `1.5KiB`). */
export interface NumberLiteral {
  readonly kind: "number";
  readonly text: string;
}

export function makeNumberLiteral(text: string): NumberLiteral {
  return Object.freeze({ kind: "number", text });
}

export function printNumber(node: NumberLiteral): string {
  return node.text;
}

const wholeQuantity = new RegExp(`^-?${quantityPattern.source}$`);

/** Returns whether a text has the form of a number with a unit; the engine's `parseQuantity` says how much it is. */
export function isQuantity(text: string): boolean {
  return wholeQuantity.test(text);
}

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** The number of a text; undefined where the text is not in decimal notation. */
export function parseNumber(text: string): number | undefined {
  return decimal.test(text) ? Number(text) : undefined;
}
