/** The checks of an ingestion rule that its schema cannot express. */

import { Refusal } from "../throttle/refusal.ts";
import { findPatternProblem } from "./exclusion.ts";
import type { IngestionRule } from "./ingestion-rule.ts";

/** Throws Refusal 400 naming the field of a pattern that is not valid RE2 syntax. */
export function checkIngestionRule({ rules }: IngestionRule, path: string): void {
  for (const [i, { match }] of rules.entries()) {
    for (const [j, { operator, values }] of (match?.matchExpressions ?? []).entries()) {
      if (operator !== "RegexIn") continue;
      for (const [k, pattern] of values.entries()) {
        checkPattern(pattern, `${path}.rules[${i}].match.matchExpressions[${j}].values[${k}]`);
      }
    }
  }
}

function checkPattern(pattern: string, where: string): void {
  const problem = findPatternProblem(pattern);
  if (problem === undefined) return;
  throw new Refusal(400, `${where} must be a regular expression in RE2 syntax: ${problem}`);
}
