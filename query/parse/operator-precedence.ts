import {
  type BinaryOperation,
  type BinaryOperator,
  type Expression,
  makeBinaryOperation,
  makeNegation,
  operatorPrecedence,
} from "../tree/expression.ts";
import type { Matching } from "../tree/grouping.ts";

/** What stands between two operands: the operator as the text has it, and its precedence. */
export interface InfixOperator {
  readonly op: BinaryOperator;
  readonly bool: boolean;
  readonly matching: Matching | null;
}

/** An operand and how many minus signs stand before it. */
export interface PrefixedOperand {
  readonly minuses: number;
  readonly of: Expression;
}

/**
 * Joins operands by precedence (shunting-yard, so that long chains do not recurse). `^` joins from the right and binds closer than a
 * minus before it: `-a ^ b` is `-(a ^ b)`, and `a ^ -b ^ c` is `a ^ -(b ^ c)`. `place` is told which joint an operation came from.
 */
export function joinOperands(
  operands: readonly PrefixedOperand[],
  joints: readonly InfixOperator[],
  place: (made: BinaryOperation, joint: InfixOperator) => void,
): Expression {
  const output: Expression[] = [];
  const waiting: (InfixOperator | "minus")[] = [];
  const reduce = () => {
    const top = waiting.pop()!;
    const right = output.pop()!;
    if (top === "minus") {
      output.push(makeNegation(right));
      return;
    }
    const made = makeBinaryOperation({ ...top, left: output.pop()!, right });
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

function bindsFirst(left: InfixOperator | "minus", right: InfixOperator): boolean {
  if (left === "minus") return right.op !== "^";
  return right.op === "^" ? false : operatorPrecedence[left.op] >= operatorPrecedence[right.op];
}
