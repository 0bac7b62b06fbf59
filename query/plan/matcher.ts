import {
  type CompareOp,
  type Field,
  type Filter,
  parseQuantity,
  type Quantity,
  severityRanges,
} from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Matcher } from "../tree/matcher.ts";
import { parseNumber } from "../tree/number-literal.ts";
import { countCondition, type PlanContext } from "./context.ts";
import { makeEqualsFilter } from "./equality.ts";
import { resolveField } from "./field.ts";
import { findWholeMatches, joinWithOr, makeRegexpFilter, resolveRegexp } from "./regexp.ts";
import { resolveLabel, resolveString } from "./variables.ts";

/**
 * The filter of a matcher. Throws a QueryError for a bad regular expression, and for `>` and similar with no number.
 */
export function planMatcher(node: Matcher, context: PlanContext): Filter {
  countCondition(context, node);
  const field = resolveField(resolveLabel(node.label, context), context);
  switch (node.operator) {
    case "=":
      return planEquality(field, node, context);
    case "!=":
      return { kind: "not", of: planEquality(field, node, context) };
    case "=~":
      return planMatch(field, node, context);
    case "!~":
      return { kind: "not", of: planMatch(field, node, context) };
    default:
      return planNumericComparison(field, node.operator, node, context);
  }
}

/**
 * The filter of `=`, which is negated for `!=`. `= "*"` selects all rows, also those without the label. `!= "*"`
 * selects the rows without the label.
 */
function planEquality(field: Field, node: Matcher, context: PlanContext): Filter {
  const value = node.value.kind === "number" ? node.value.text : resolveString(node.value, context);
  if (value === "*" && node.value.kind === "string")
    return node.operator === "=" ? { kind: "always" } : planPresence(field);
  return makeEqualsFilter(field, value);
}

/**
 * The filter of rows that have a label. Every row has a time and a message; a row without a level has the empty level.
 */
function planPresence(field: Field): Filter {
  if (field.kind === "level") return { kind: "not", of: { kind: "equals", field, value: "" } };
  return field.kind === "attribute" ? { kind: "present", field } : { kind: "always" };
}

/**
 * The filter of `=~`. The pattern must match the whole value; for messages, it may match any part. Case is ignored for
 * levels, which also match by the names of their severity ranges.
 */
function planMatch(field: Field, node: Matcher, context: PlanContext): Filter {
  if (node.value.kind === "number") {
    const problem = `${node.operator} takes a regular expression in quotes, such as ${node.operator} "${node.value.text}.*"`;
    return refuse(context.source, node.value, problem);
  }
  const pattern = resolveRegexp(node.value, context);
  const isLevel = field.kind === "level";
  const filter = makeRegexpFilter(field, pattern, { ignoreCase: isLevel, whole: field.kind !== "message" });
  // Plain words have become comparisons, which know the ranges already.
  if (!isLevel || filter.kind !== "matches") return filter;
  const ranges = findWholeMatches(pattern, severityRanges);
  return joinWithOr([filter, ...ranges.map((range) => makeEqualsFilter(field, range))]);
}

/** The filter of a comparison with a unit. Some labels are numbers of milliseconds, as the duration of a span. */
function compareQuantity(
  field: Field,
  op: CompareOp,
  { unit, number }: Quantity,
  node: Matcher,
  context: PlanContext,
): Filter {
  const isMilliseconds = field.kind === "attribute" && context.milliseconds.has(field.key);
  if (isMilliseconds && unit === "ns") return { kind: "compares", field, op, number: number / 1e6 };
  if (field.kind === "time" || isMilliseconds) {
    const what = isMilliseconds ? "a duration, not bytes" : "milliseconds since the epoch, without a unit";
    return refuse(context.source, node.value, `${resolveLabel(node.label, context)} is ${what}`);
  }
  return { kind: "compares", field, op, number, unit };
}

function planNumericComparison(field: Field, op: CompareOp, node: Matcher, context: PlanContext): Filter {
  const text = node.value.kind === "number" ? node.value.text : resolveString(node.value, context);
  const number = parseNumber(text);
  if (number !== undefined) return { kind: "compares", field, op, number };
  const quantity = parseQuantity(text);
  if (quantity !== undefined) return compareQuantity(field, op, quantity, node, context);
  const problem = `${op} compares with a number such as 20, 20ms or 1.5KiB, not with ${JSON.stringify(text)}`;
  return refuse(context.source, node.value, problem);
}
