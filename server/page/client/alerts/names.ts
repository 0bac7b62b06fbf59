/** Names for people of what the server calls by a word. */

import type { AlertStateName, InstanceLabels, RuleOperator } from "./answers.ts";

export const stateNames: Readonly<Record<AlertStateName, string>> = {
  firing: "firing",
  unhealthy: "not judged",
  noData: "no data",
  ok: "ok",
};

/** The operators of a rule, with their signs. */
export const operatorSigns: Readonly<Record<string, string>> = {
  greaterThan: ">",
  greaterThanOrEqual: "≥",
  lessThan: "<",
  lessThanOrEqual: "≤",
  equals: "=",
  notEquals: "≠",
};

/** `> 5 and < 10` */
export function nameOperators(operators: readonly RuleOperator[]): string {
  return operators
    .map(({ operator, threshold }) => `${operatorSigns[operator] ?? operator} ${threshold}`)
    .join(" and ");
}

/** `service.name=cart`; what stands for the only instance of a query without labels. */
export function nameInstance(labels: InstanceLabels): string {
  const entries = Object.entries(labels);
  return entries.length === 0 ? "(all)" : entries.map(([name, value]) => `${name}=${value}`).join(", ");
}
