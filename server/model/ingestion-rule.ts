/** Ingestion rules: telemetry that does not leave its cluster (interface specification, section 2.5). */

import * as z from "zod";
import { Refusal } from "../limits/refusal.ts";
import { excludableSignals, patternProblem } from "./exclusion.ts";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { fixed, longText, nameText } from "./schema.ts";

const expression = fixed({
  key: nameText,
  /** RegexIn: RE2 syntax, found anywhere in the value. */
  operator: z.enum(["In", "RegexIn"]),
  values: z.array(longText).min(1).max(listedMax),
});

const exclusion = fixed({
  /** A custom resource names logs and traces alone. */
  signals: z.array(z.enum(excludableSignals)).min(1).max(excludableSignals.length),
  action: z.literal("Exclude"),
  /** Left out: everything of these signals. */
  match: fixed({ matchExpressions: z.array(expression).min(1).max(listedMax) }).optional(),
});

export const ingestionRuleShape = fixed({
  id: sentId.optional(),
  displayName: nameText.optional(),
  /** The name of an environment, whose rows it is for; left out: every one. */
  cluster: nameText.optional(),
  rules: z.array(exclusion).min(1).max(listedMax),
}).meta({ id: "IngestionRule" });

export type IngestionRule = z.infer<typeof ingestionRuleShape>;

/** Throws Refusal 400 naming the pattern that is none. */
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
  const problem = patternProblem(pattern);
  if (problem === undefined) return;
  throw new Refusal(400, `${where} must be a regular expression in RE2 syntax: ${problem}`);
}
