import type { CompareOp, Field, Filter } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { Matcher } from "../tree/matcher.ts";
import { parseNumber } from "../tree/number-literal.ts";
import { countCondition, type PlanContext } from "./context.ts";
import { referTo } from "./field.ts";
import { patternFilter, readPattern } from "./regexp.ts";
import { labelName, resolveText } from "./variables.ts";

/** What a matcher asks of a row. Throws a QueryError for a bad pattern or a comparison with what is no number. */
export function matcherFilter(node: Matcher, context: PlanContext): Filter {
  countCondition(context, node);
  const field = referTo(labelName(node.label, context), context);
  switch (node.comparison) {
    case "=":
      return equality(field, node, context);
    case "!=":
      return { kind: "not", of: equality(field, node, context) };
    case "=~":
      return match(field, node, context);
    case "!~":
      return { kind: "not", of: match(field, node, context) };
    default:
      return numeric(field, node.comparison, node, context);
  }
}

/** `=`: the text of the value; `"*"` stands for any value and for none. */
function equality(field: Field, node: Matcher, context: PlanContext): Filter {
  const value = node.value.kind === "number" ? node.value.text : resolveText(node.value, context);
  if (value === "*" && node.value.kind === "text")
    return node.comparison === "=" ? { kind: "always" } : present(field);
  return { kind: "equals", field, value: field.kind === "level" ? value.toLowerCase() : value };
}

/** Every row has a time and a message; a level that was not sent is the empty text. */
function present(field: Field): Filter {
  if (field.kind === "level") return { kind: "not", of: { kind: "equals", field, value: "" } };
  return field.kind === "attribute" ? { kind: "present", field } : { kind: "always" };
}

/** `=~`: anchored at both ends but for the message, which is searched. Levels are matched lower-cased, so case is ignored there. */
function match(field: Field, node: Matcher, context: PlanContext): Filter {
  if (node.value.kind === "number") {
    const problem = `${node.comparison} takes a regular expression in quotes, such as ${node.comparison} "${node.value.text}.*"`;
    return refuse(context.source, node.value, problem);
  }
  const pattern = readPattern(node.value, context);
  return patternFilter(field, pattern, {
    ignoreCase: field.kind === "level",
    whole: field.kind !== "message",
  });
}

function numeric(field: Field, op: CompareOp, node: Matcher, context: PlanContext): Filter {
  const text = node.value.kind === "number" ? node.value.text : resolveText(node.value, context);
  const number = parseNumber(text);
  if (number !== undefined) return { kind: "compares", field, op, number };
  return refuse(
    context.source,
    node.value,
    `${op} compares with a number in decimal notation, not with ${JSON.stringify(text)}`,
  );
}
