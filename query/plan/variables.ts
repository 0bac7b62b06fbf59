import { refuse } from "../text/source.ts";
import type { Label } from "../tree/label.ts";
import type { StringLiteral } from "../tree/string-literal.ts";
import type { Variable } from "../tree/variable.ts";
import type { PlanContext } from "./context.ts";

/**
 * The value of a variable. Throws a QueryError where the variable has no value. `at` is the node that holds the
 * variable, for the position of the error.
 */
export function resolveVariable(node: Variable, context: PlanContext, at: object): string {
  const value = context.variables.get(node.name);
  if (value !== undefined) return value;
  const span = context.source.spans.get(at);
  const isUnquoted = span === undefined || context.source.text.startsWith("$", span.start);
  const advice = isUnquoted ? "" : `; for the characters themselves write \\$${node.name}`;
  return refuse(context.source, at, `the variable $${node.name} has no value here${advice}`);
}

/** The characters of a string literal with its variables replaced. `insert` may quote a value before it is inserted. */
export function resolveString(
  node: StringLiteral,
  context: PlanContext,
  insert = (value: string) => value,
): string {
  return node.parts
    .map((part) => (part.kind === "characters" ? part.text : insert(resolveVariable(part, context, node))))
    .join("");
}

/** The name of a label with its variables replaced. */
export function resolveLabel(node: Label, context: PlanContext): string {
  return resolveString(node.name, context);
}
