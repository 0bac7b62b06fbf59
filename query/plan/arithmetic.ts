import type { BinaryOperator } from "../tree/expression.ts";

/** The operators on two numbers. A comparison returns whether it is true. */
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
 * The value of an operator for two numbers. With `bool`, a comparison gives 1 if it is true, else 0. Without `bool`, a
 * comparison that is true gives the left number, and one that is false gives undefined. Undefined, too, where the result
 * is not finite: division and remainder by zero, or the root of a negative number.
 */
export function calculate(op: BinaryOperator, a: number, b: number, bool: boolean): number | undefined {
  if ((op === "/" || op === "%") && b === 0) return undefined;
  const result = arithmetic[op as ArithmeticOperator](a, b);
  if (typeof result === "number") return Number.isFinite(result) ? result : undefined;
  if (bool) return result ? 1 : 0;
  return result ? a : undefined;
}
