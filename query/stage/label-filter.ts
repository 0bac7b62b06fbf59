import type { Filter, Step } from "../../engine/index.ts";
import type { PlanContext } from "../context.ts";
import { type Matcher, matcherFilter, printMatcher } from "../matcher.ts";

/** A condition on labels: a matcher, or others joined. `and` binds closer than `or`; `,` is `and`. */
export type Condition = Matcher | Junction;

interface Junction {
  readonly kind: "and" | "or";
  /** Two or more, none of them of the same kind. */
  readonly of: readonly Condition[];
}

/** `| status >= 500 and method = "GET"`. */
export interface LabelFilter {
  readonly kind: "labelFilter";
  readonly condition: Condition;
}

export function labelFilter(condition: Condition): LabelFilter {
  return Object.freeze({ kind: "labelFilter", condition });
}

/** Joins conditions; a junction of the same kind among them is taken apart, and one condition stands for itself. */
export function junction(kind: "and" | "or", of: readonly Condition[]): Condition {
  if (of.length === 1) return of[0]!;
  return Object.freeze({
    kind,
    of: Object.freeze(of.flatMap((each) => (each.kind === kind ? each.of : [each]))),
  });
}

export function printLabelFilter(node: LabelFilter): string {
  return `| ${printCondition(node.condition)}`;
}

function printCondition(node: Condition): string {
  if (node.kind === "matcher") return printMatcher(node);
  const parts = node.of.map((each) => {
    const printed = printCondition(each);
    return node.kind === "and" && each.kind === "or" ? `(${printed})` : printed;
  });
  return parts.join(` ${node.kind} `);
}

export function labelFilterSteps(node: LabelFilter, context: PlanContext): Step[] {
  return [{ kind: "filter", filter: conditionFilter(node.condition, context) }];
}

function conditionFilter(node: Condition, context: PlanContext): Filter {
  if (node.kind === "matcher") return matcherFilter(node, context);
  return { kind: node.kind, of: node.of.map((each) => conditionFilter(each, context)) };
}
