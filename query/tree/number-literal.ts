/** A number as it is written, in decimal notation; a sign only where it is a matcher's value. */
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

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** The number that a text denotes, or undefined where it is not in decimal notation. */
export function parseNumber(text: string): number | undefined {
  return decimal.test(text) ? Number(text) : undefined;
}
