import type { PlanContext } from "./context.ts";
import { refuse } from "./source.ts";

/** `$name`: stands for a value that is given when the query is planned. */
export interface Variable {
  readonly kind: "variable";
  readonly name: string;
}

export function variable(name: string): Variable {
  return Object.freeze({ kind: "variable", name });
}

export function printVariable(node: Variable): string {
  return `$${node.name}`;
}

/** The value given for a variable. Throws a QueryError that names it where none is; `at` is the node that holds it. */
export function variableValue(node: Variable, context: PlanContext, at: object): string {
  const value = context.variables.get(node.name);
  if (value !== undefined) return value;
  const place = context.source.places.get(at);
  const bare = place === undefined || context.source.text.startsWith("$", place.start);
  const inText = bare ? "" : `; for the characters themselves write \\$${node.name}`;
  return refuse(context.source, at, `the variable $${node.name} has no value here${inText}`);
}
