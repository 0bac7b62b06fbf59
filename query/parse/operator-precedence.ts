import {
  type BinaryOperation,
  type BinaryOperator,
  type Expression,
  makeBinaryOperation,
  makeNegation,
  operatorPrecedence,
} from "../tree/expression.ts";
import type { Matching } from "../tree/grouping.ts";

/** A binary operator of the text, before its operands are known. */
export interface InfixOperator {
  readonly op: BinaryOperator;
  readonly bool: boolean;
  readonly matching: Matching | null;
}

/** An operand and the number of minus signs before it. */
export interface PrefixedOperand {
  readonly minuses: number;
  readonly of: Expression;
}

/**
 * Builds the tree of a chain of operands by operator precedence. It is Dijkstra's shunting-yard algorithm, so that long
 * chains do not recurse. `^` is right-associative and binds closer than a minus before it: `-a ^ b` is `-(a ^ b)`, and
 * `a ^ -b ^ c` is `a ^ -(b ^ c)`. `onOperation` is called with each operation made and the operator that it was made
 * from.
 */
export function joinOperands(
  operands: readonly PrefixedOperand[],
  operators: readonly InfixOperator[],
  onOperation: (operation: BinaryOperation, operator: InfixOperator) => void,
): Expression {
  const output: Expression[] = [];
  const stack: (InfixOperator | "minus")[] = [];
  const reduce = () => {
    const top = stack.pop()!;
    const right = output.pop()!;
    if (top === "minus") {
      output.push(makeNegation(right));
      return;
    }
    const operation = makeBinaryOperation({ ...top, left: output.pop()!, right });
    onOperation(operation, top);
    output.push(operation);
  };
  operands.forEach(({ minuses, of }, index) => {
    for (let count = 0; count < minuses; count++) stack.push("minus");
    output.push(of);
    const operator = operators[index];
    if (operator === undefined) return;
    while (stack.length > 0 && isAppliedFirst(stack.at(-1)!, operator)) reduce();
    stack.push(operator);
  });
  while (stack.length > 0) reduce();
  return output[0]!;
}

/** Returns whether the left of two operators takes the operand between them. */
function isAppliedFirst(left: InfixOperator | "minus", right: InfixOperator): boolean {
  if (left === "minus") return right.op !== "^";
  return right.op === "^" ? false : operatorPrecedence[left.op] >= operatorPrecedence[right.op];
}
