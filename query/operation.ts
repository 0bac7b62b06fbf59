import type { Expression } from "./expression.ts";
import type { Matching } from "./grouping.ts";

/** How close an operator between series binds: PromQL's order, `default` last. A unary minus stands between `*` and `^`. */
export const precedence = {
  default: 1,
  or: 2,
  and: 3,
  unless: 3,
  "==": 4,
  "!=": 4,
  ">": 4,
  ">=": 4,
  "<": 4,
  "<=": 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
  "%": 6,
  "^": 8,
} as const;

export type Operator = keyof typeof precedence;

/** Binds closer than all operators but `^`. */
export const negationPrecedence = 7;

/** `a / b`, with `bool` behind a comparison, and with the labels on which the series of both sides match. */
export interface Operation {
  readonly kind: "operation";
  readonly op: Operator;
  readonly bool: boolean;
  readonly matching: Matching | null;
  readonly left: Expression;
  readonly right: Expression;
}

function operation(parts: Omit<Operation, "kind">): Operation {
  return Object.freeze({ kind: "operation", ...parts });
}

/** `-a`. */
export interface Negation {
  readonly kind: "negation";
  readonly of: Expression;
}

function negation(of: Expression): Negation {
  return Object.freeze({ kind: "negation", of });
}

/** What stands between two operands: the operator as the text has it, and its precedence. */
export interface Joint {
  readonly op: Operator;
  readonly bool: boolean;
  readonly matching: Matching | null;
}

/** An operand and how many minus signs stand before it. */
export interface Signed {
  readonly minuses: number;
  readonly of: Expression;
}

/**
 * Joins operands by precedence (shunting-yard, so that long chains do not recurse). `^` joins from the right and binds closer than a
 * minus before it: `-a ^ b` is `-(a ^ b)`, and `a ^ -b ^ c` is `a ^ -(b ^ c)`. `place` is told which joint an operation came from.
 */
export function join(
  operands: readonly Signed[],
  joints: readonly Joint[],
  place: (made: Operation, joint: Joint) => void,
): Expression {
  const output: Expression[] = [];
  const waiting: (Joint | "minus")[] = [];
  const reduce = () => {
    const top = waiting.pop()!;
    const right = output.pop()!;
    if (top === "minus") {
      output.push(negation(right));
      return;
    }
    const made = operation({ ...top, left: output.pop()!, right });
    place(made, top);
    output.push(made);
  };
  operands.forEach(({ minuses, of }, index) => {
    for (let count = 0; count < minuses; count++) waiting.push("minus");
    output.push(of);
    const joint = joints[index];
    if (joint === undefined) return;
    while (waiting.length > 0 && bindsFirst(waiting.at(-1)!, joint)) reduce();
    waiting.push(joint);
  });
  while (waiting.length > 0) reduce();
  return output[0]!;
}

function bindsFirst(left: Joint | "minus", right: Joint): boolean {
  if (left === "minus") return right.op !== "^";
  return right.op === "^" ? false : precedence[left.op] >= precedence[right.op];
}
