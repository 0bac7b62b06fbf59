import { type Aggregate, printAggregate } from "./aggregate.ts";
import { type Matching, printGrouping } from "./grouping.ts";
import { type JsonPath, printJsonPath } from "./json-path.ts";
import { type NumberLiteral, printNumber } from "./number-literal.ts";
import { printRate, type Rate } from "./rate.ts";
import { printSelector, type TelemetrySelector } from "./selector.ts";
import { printVariable, type Variable } from "./variable.ts";

/** The tree of a structured query: frozen plain data, the same for every way to write the same query. */
export type Expression =
  | BinaryOperation
  | Negation
  | NumberLiteral
  | Variable
  | Aggregate
  | Rate
  | JsonPath
  | TelemetrySelector;

/** How close an operator between series binds: PromQL's order, `default` last. A unary minus stands between `*` and `^`. */
export const operatorPrecedence = {
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

export type BinaryOperator = keyof typeof operatorPrecedence;

/** Binds closer than all operators but `^`. */
const negationPrecedence = 7;

/** `a / b`, with `bool` behind a comparison, and with the labels on which the series of both sides match. */
export interface BinaryOperation {
  readonly kind: "operation";
  readonly op: BinaryOperator;
  readonly bool: boolean;
  readonly matching: Matching | null;
  readonly left: Expression;
  readonly right: Expression;
}

export function makeBinaryOperation(parts: Omit<BinaryOperation, "kind">): BinaryOperation {
  return Object.freeze({ kind: "operation", ...parts });
}

/** `-a`. */
export interface Negation {
  readonly kind: "negation";
  readonly of: Expression;
}

export function makeNegation(of: Expression): Negation {
  return Object.freeze({ kind: "negation", of });
}

export function printExpression(node: Expression): string {
  switch (node.kind) {
    case "operation":
      return printBinaryOperation(node);
    case "negation":
      return `-${printOperand(node.of, negationPrecedence)}`;
    case "number":
      return printNumber(node);
    case "variable":
      return printVariable(node);
    case "aggregate":
      return printAggregate(node, printExpression);
    case "rate":
      return printRate(node);
    case "jsonPath":
      return printJsonPath(node);
    case "selector":
      return printSelector(node);
  }
}

function printBinaryOperation(node: BinaryOperation): string {
  const own = operatorPrecedence[node.op];
  // `^` joins from the right; a minus may stand bare on its right side only.
  const [left, right] = node.op === "^" ? [own + 1, negationPrecedence] : [own, own + 1];
  const words = [
    node.op,
    node.bool ? "bool" : "",
    node.matching === null ? "" : printGrouping(node.matching),
  ];
  const operator = words.filter((word) => word !== "").join(" ");
  return `${printOperand(node.left, left)} ${operator} ${printOperand(node.right, right)}`;
}

/** Prints an operand, in brackets where it binds less close than it must. */
function printOperand(node: Expression, closest: number): string {
  const printed = printExpression(node);
  return bindingStrengthOf(node) < closest ? `(${printed})` : printed;
}

function bindingStrengthOf(node: Expression): number {
  if (node.kind === "operation") return operatorPrecedence[node.op];
  if (node.kind === "negation") return negationPrecedence;
  // Behind a stage, `or` and `,` and names with `-` would be taken for parts of the stage.
  return node.kind === "selector" && node.stages.length > 0 ? 0 : Number.POSITIVE_INFINITY;
}
