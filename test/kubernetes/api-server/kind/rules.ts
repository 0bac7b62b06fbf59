/** Rules in CEL, `x-kubernetes-validations`, evaluated over an object and what it was before. */
import { Environment } from "@marcbachmann/cel-js";
import { type Fields, isFields } from "../objects.ts";
import type { FieldProblem } from "../status.ts";
import { joinPath, memberSchema, type Schema, type ValidationRule } from "./schema.ts";

type Evaluate = (variables: Fields) => unknown;

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
}).registerFunction("isURL(string): bool", (text: string) => URL.canParse(text));

const parsed = new Map<string, Evaluate>();

/** Parses an expression once; throws where it is not CEL. */
export function parseRule(expression: string): Evaluate {
  let evaluate = parsed.get(expression);
  if (evaluate === undefined) {
    evaluate = environment.parse(expression) as Evaluate;
    parsed.set(expression, evaluate);
  }
  return evaluate;
}

/** Checks every rule of a schema; `old` is undefined where the object is new. */
export function checkRules(value: unknown, old: unknown, schema: Schema, path = ""): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const rule of schema["x-kubernetes-validations"] ?? []) {
    const problem = checkRule(rule, value, old, schema, path);
    if (problem !== undefined) problems.push(problem);
  }
  if (Array.isArray(value) && schema.items !== undefined) {
    for (const [i, item] of value.entries()) {
      problems.push(...checkRules(item, findOldItem(item, old, schema), schema.items, `${path}[${i}]`));
    }
  } else if (isFields(value)) {
    for (const [name, each] of Object.entries(value)) {
      const member = memberSchema(schema, name);
      if (member === undefined || each === undefined) continue;
      problems.push(...checkRules(each, isFields(old) ? old[name] : undefined, member, joinPath(path, name)));
    }
  }
  return problems;
}

/** The item of the former list that has the same keys; only lists of type `map` tell which one that is. */
function findOldItem(item: unknown, old: unknown, schema: Schema): unknown {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (keys === undefined || !Array.isArray(old) || !isFields(item)) return undefined;
  return old.find((each) => isFields(each) && keys.every((key) => each[key] === item[key]));
}

function checkRule(
  rule: ValidationRule,
  value: unknown,
  old: unknown,
  schema: Schema,
  path: string,
): FieldProblem | undefined {
  const isTransition = /\boldSelf\b/.test(rule.rule);
  if (isTransition && old === undefined && rule.optionalOldSelf !== true) return undefined;
  const variables: Fields = { self: toCel(value, schema) };
  if (isTransition) variables.oldSelf = old === undefined ? undefined : toCel(old, schema);
  const fail = (message: string): FieldProblem => ({
    path: `${path}${rule.fieldPath ?? ""}`.replace(/^\./, "") || "<nil>",
    reason: rule.reason ?? "FieldValueInvalid",
    message: `Invalid value: "${celTypeOf(value)}": ${message}`,
  });
  try {
    if (parseRule(rule.rule)(variables) === true) return undefined;
  } catch (error) {
    const [why] = String((error as Error).message).split("\n");
    return fail(`${why} evaluating rule: ${rule.message ?? rule.rule}`);
  }
  if (rule.messageExpression !== undefined) return fail(String(parseRule(rule.messageExpression)(variables)));
  return fail(rule.message ?? `failed rule: ${rule.rule}`);
}

function celTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/** Numbers become what the schema says they are (CEL keeps int and double apart); names become CEL identifiers. */
function toCel(value: unknown, schema: Schema | undefined): unknown {
  if (typeof value === "number") return schema?.type === "integer" ? BigInt(Math.trunc(value)) : value;
  if (Array.isArray(value)) return value.map((item) => toCel(item, schema?.items));
  if (!isFields(value)) return value;
  const members: Fields = {};
  for (const [name, each] of Object.entries(value)) {
    if (each === undefined) continue;
    const isProperty = schema?.properties?.[name] !== undefined;
    const member = schema === undefined ? undefined : memberSchema(schema, name);
    members[isProperty ? escapeName(name) : name] = toCel(each, member);
  }
  return members;
}

/** Property names that are no CEL identifiers, escaped as Kubernetes does it. */
function escapeName(name: string): string {
  if (
    /^(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$/.test(
      name,
    )
  ) {
    return `__${name}__`;
  }
  const marks: Record<string, string> = {
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
    __: "__underscores__",
  };
  return name.replaceAll(/__|[.\-/]/g, (mark) => marks[mark]!);
}
