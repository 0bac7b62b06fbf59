import { refuse } from "../text/source.ts";
import type { Label } from "../tree/label.ts";
import type { StringLiteral } from "../tree/string-literal.ts";
import type { Variable } from "../tree/variable.ts";
import type { PlanContext } from "./context.ts";

/** The value given for a variable. Throws a QueryError that names it where none is; `at` is the node that holds it. */
export function resolveVariable(node: Variable, context: PlanContext, at: object): string {
  const value = context.variables.get(node.name);
  if (value !== undefined) return value;
  const place = context.source.spans.get(at);
  const bare = place === undefined || context.source.text.startsWith("$", place.start);
  const inText = bare ? "" : `; for the characters themselves write \\$${node.name}`;
  return refuse(context.source, at, `the variable $${node.name} has no value here${inText}`);
}

/** The characters of a text with its variables replaced; `insert` may quote what is inserted. */
export function resolveString(
  node: StringLiteral,
  context: PlanContext,
  insert = (value: string) => value,
): string {
  return node.parts
    .map((part) => (part.kind === "characters" ? part.text : insert(resolveVariable(part, context, node))))
    .join("");
}

/** The name of the label with its variables replaced. */
export function resolveLabel(node: Label, context: PlanContext): string {
  return resolveString(node.name, context);
}
