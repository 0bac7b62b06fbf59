/** Ingestion rules: which telemetry is not stored (interface specification, section 2.5). */

import * as z from "zod";
import { sentId } from "./resource-id.ts";
import { ruleSignals } from "./rule-signal.ts";
import { listOf, matchOf, nameText, strictObject } from "./schema.ts";

/** `In` compares whole texts; `RegexIn` searches for a pattern in RE2 syntax. All expressions must hold. */
export const ingestionRuleMatch = matchOf(["In", "RegexIn"]);

const exclusion = strictObject({
  /** Custom resources can name logs and traces only. */
  signals: z.array(z.enum(ruleSignals)).min(1).max(ruleSignals.length),
  action: z.literal("Exclude"),
  /** Absent: every row of the signals. */
  match: ingestionRuleMatch.optional(),
});

export const ingestionRuleShape = strictObject({
  id: sentId.optional(),
  displayName: nameText.optional(),
  /** Name of the environment whose rows the rule is for; absent: every one. */
  cluster: nameText.optional(),
  rules: listOf(exclusion),
}).meta({ id: "IngestionRule" });

export type IngestionRule = z.infer<typeof ingestionRuleShape>;
