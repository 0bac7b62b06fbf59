import type { rangeFunctions, seriesFunctions } from "../text/keywords.ts";
import type { AggregateOperator } from "./aggregate.ts";
import { type Grouping, type Matching, printGrouping } from "./grouping.ts";
import { type JsonPath, printJsonPath } from "./json-path.ts";
import { type Label, printField } from "./label.ts";
import { type NumberLiteral, printNumber } from "./number-literal.ts";
import { printSelector, type TelemetrySelector } from "./selector.ts";
import { printStringLiteral, type StringLiteral } from "./string-literal.ts";
import { printVariable, type Variable } from "./variable.ts";

/**
 * The syntax tree of a structured query: frozen plain data. Queries that differ only in white space, brackets or quotes
 * have equal trees. Each node has a literal `kind`.
 */
export type Expression =
  | BinaryOperation
  | Negation
  | NumberLiteral
  | Variable
  | Aggregate
  | RangeFunction
  | SeriesFunction
  | JsonPath
  | TelemetrySelector;

/** Precedence of the operators between series: as in PromQL, with `default` below all. Higher numbers bind closer. */
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

/** A unary minus binds closer than all binary operators but `^`. */
const negationPrecedence = 7;

/** `a / b`. */
export interface BinaryOperation {
  readonly kind: "operation";
  readonly op: BinaryOperator;
  /** True for a comparison with `bool`, which gives 1 or 0. */
  readonly bool: boolean;
  /** `on (…)` or `ignoring (…)` after the operator. */
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

/** `sum(…) by (label)`, `quantile(0.99, field, …)` and similar. */
export interface Aggregate {
  readonly kind: "aggregate";
  readonly op: AggregateOperator;
  /** The number before the series: the quantile, or the number of series. Null for aggregations that take no number. */
  readonly parameter: NumberLiteral | Variable | null;
  /** The field of rows whose values are aggregated, or the label whose values are counted. */
  readonly field: Label | null;
  readonly of: Expression;
  readonly grouping: Grouping | null;
}

export function makeAggregate(parts: Omit<Aggregate, "kind">): Aggregate {
  return Object.freeze({ kind: "aggregate", ...parts });
}

/** A function of what a series, or the rows of a group, have in a window of time: `rate(…[5m])`, `max_over_time(…)`. */
export interface RangeFunction {
  readonly kind: "rangeFunction";
  readonly op: (typeof rangeFunctions)[number];
  readonly of: TelemetrySelector;
  /** The number of `quantile_over_time(0.9, …)` or `predict_linear(…, 3600)`. Null for functions that take none. */
  readonly parameter: Expression | null;
}

export function makeRangeFunction(
  op: RangeFunction["op"],
  of: TelemetrySelector,
  parameter: Expression | null = null,
): RangeFunction {
  return Object.freeze({ kind: "rangeFunction", op, of, parameter });
}

/** `clamp(a, 0, 1)`, `label_replace(a, "pod", "$1", "instance", "(.*):.*")` and similar. */
export interface SeriesFunction {
  readonly kind: "function";
  readonly op: (typeof seriesFunctions)[number];
  readonly args: readonly (Expression | StringLiteral)[];
}

export function makeSeriesFunction(op: SeriesFunction["op"], args: SeriesFunction["args"]): SeriesFunction {
  return Object.freeze({ kind: "function", op, args: Object.freeze([...args]) });
}

/** The text of a tree, which parses to an equal tree. */
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
      return printAggregate(node);
    case "rangeFunction":
      return printRangeFunction(node);
    case "function":
      return `${node.op}(${node.args.map(printArgument).join(", ")})`;
    case "jsonPath":
      return printJsonPath(node);
    case "selector":
      return printSelector(node);
  }
}

function printRangeFunction({ op, of, parameter }: RangeFunction): string {
  const args = [printSelector(of), ...(parameter === null ? [] : [printExpression(parameter)])];
  return `${op}(${(op === "quantile_over_time" ? args.reverse() : args).join(", ")})`;
}

function printArgument(node: Expression | StringLiteral): string {
  // A comma after a stage would be read as part of it.
  return node.kind === "string" ? printStringLiteral(node) : printOperand(node, 1);
}

function printAggregate({ op, parameter, field, of, grouping }: Aggregate): string {
  const number = parameter && (parameter.kind === "number" ? parameter.text : printVariable(parameter));
  // A label before a comma is a field: a variable as the first operand needs brackets.
  const args = [number, field && printField(field), printExpression(of)];
  const call = `${op}(${args.filter((arg) => arg !== null).join(", ")})`;
  return grouping === null ? call : `${call} ${printGrouping(grouping)}`;
}

function printBinaryOperation(node: BinaryOperation): string {
  const precedence = operatorPrecedence[node.op];
  // `^` is right-associative. A negation needs brackets as its left operand, but not as its right one.
  const [left, right] = node.op === "^" ? [precedence + 1, negationPrecedence] : [precedence, precedence + 1];
  const words = [
    node.op,
    node.bool ? "bool" : "",
    node.matching === null ? "" : printGrouping(node.matching),
  ];
  const operator = words.filter((word) => word !== "").join(" ");
  return `${printOperand(node.left, left)} ${operator} ${printOperand(node.right, right)}`;
}

/** Prints an operand, in brackets where its precedence is below `precedenceMin`. */
function printOperand(node: Expression, precedenceMin: number): string {
  const printed = printExpression(node);
  return precedenceOf(node) < precedenceMin ? `(${printed})` : printed;
}

function precedenceOf(node: Expression): number {
  if (node.kind === "operation") return operatorPrecedence[node.op];
  if (node.kind === "negation") return negationPrecedence;
  // After a stage, `or`, `,` and names with `-` would be read as parts of the stage, so such a selector gets brackets.
  return node.kind === "selector" && node.stages.length > 0 ? 0 : Number.POSITIVE_INFINITY;
}
