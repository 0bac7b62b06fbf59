import type { BinaryOperator } from "../tree/expression.ts";

/** Operators that calculate with two numbers; of those that filter, what holds. */
const arithmetic = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
  "^": (a, b) => a ** b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
} as const satisfies Partial<Record<BinaryOperator, (a: number, b: number) => number | boolean>>;

type ArithmeticOperator = keyof typeof arithmetic;

export function isComparison(op: BinaryOperator): boolean {
  return ["==", "!=", ">", ">=", "<", "<="].includes(op);
}

export function isSetOperator(op: BinaryOperator): op is "and" | "or" | "unless" {
  return op === "and" || op === "or" || op === "unless";
}

/**
 * The value of two numbers under an operator; undefined where there is none: division and remainder by zero, and a comparison that does
 * not hold. A comparison that holds gives the left number, with `bool` 1 or 0.
 */
export function calculate(op: BinaryOperator, a: number, b: number, bool: boolean): number | undefined {
  if ((op === "/" || op === "%") && b === 0) return undefined;
  const result = arithmetic[op as ArithmeticOperator](a, b);
  if (typeof result === "number") return result;
  if (bool) return result ? 1 : 0;
  return result ? a : undefined;
}
