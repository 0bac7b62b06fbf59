import { refuse } from "../text/source.ts";
import type { BinaryOperation, Expression } from "../tree/expression.ts";
import { resolveLabels } from "./arguments.ts";
import { calculate, isComparison, isSetOperator } from "./arithmetic.ts";
import type { TimeseriesContext } from "./context.ts";
import { type Calculation, type Constant, isUnlabelled, type SeriesPlan } from "./series-plan.ts";

type Operand = SeriesPlan | Constant;

/**
 * Plans a binary operation. `planOperand` plans each side. An operation on two numbers is calculated at once and gives
 * a number. Throws a QueryError.
 */
export function planBinaryOperation(
  tree: BinaryOperation,
  planOperand: (tree: Expression) => Operand,
  context: TimeseriesContext,
): Calculation | Constant {
  const { op, bool } = tree;
  const left = planOperand(tree.left);
  const right = planOperand(tree.right);
  if (left.kind === "number" && right.kind === "number") return planConstant(tree, left, right, context);
  const number = left.kind === "number" ? tree.left : right.kind === "number" ? tree.right : undefined;
  if (number !== undefined && (isSetOperator(op) || (op === "default" && left.kind === "number"))) {
    const problem =
      op === "default"
        ? "`default` fills the gaps of series, which stand on its left side"
        : `\`${op}\` joins series with series, not with a number`;
    refuse(context.source, number, problem);
  }
  if (tree.matching !== null && number !== undefined) {
    const problem = `\`${tree.matching.kind}\` matches series with series, and one side is a number`;
    refuse(context.source, tree.matching, problem);
  }
  const matching =
    tree.matching === null
      ? null
      : { kind: tree.matching.kind, labels: resolveLabels(tree.matching, context) };
  const isLeftUnlabelled = left.kind !== "number" && isUnlabelled(left, context.scans.scans);
  const at = context.source.spans.get(tree) ?? { start: 0, end: context.source.text.length };
  return {
    kind: "calculation",
    op,
    bool,
    matching,
    left,
    right,
    isLeftUnlabelled,
    at: { start: at.start, end: at.end },
  };
}

function planConstant(
  tree: BinaryOperation,
  left: Constant,
  right: Constant,
  context: TimeseriesContext,
): Constant {
  const { op, bool } = tree;
  if (isSetOperator(op) || op === "default") {
    return refuse(context.source, tree, `\`${op}\` joins series, and both sides are numbers`);
  }
  if (isComparison(op) && !bool) {
    return refuse(context.source, tree, `comparing two numbers gives 0 or 1: write ${op} bool`);
  }
  const value = calculate(op, left.value, right.value, bool);
  if (value !== undefined) return { kind: "number", value };
  const divides = (op === "/" || op === "%") && right.value === 0;
  return refuse(context.source, tree, divides ? "this divides by zero" : "this has no finite value");
}
