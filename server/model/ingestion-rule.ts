/** Ingestion rules: which telemetry is not stored (interface specification, section 2.5). */

import * as z from "zod";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { longText, nameText, strictObject } from "./schema.ts";

export const excludableSignals = ["logs", "metrics", "traces", "profiles", "kubernetesResources"] as const;
export type ExcludableSignal = (typeof excludableSignals)[number];

const expression = strictObject({
  key: nameText,
  /** `In` compares whole texts; `RegexIn` searches the text for a pattern in RE2 syntax. */
  operator: z.enum(["In", "RegexIn"]),
  values: z.array(longText).min(1).max(listedMax),
});

const exclusion = strictObject({
  /** Custom resources can name logs and traces only. */
  signals: z.array(z.enum(excludableSignals)).min(1).max(excludableSignals.length),
  action: z.literal("Exclude"),
  /** Absent: every row of the signals. */
  match: strictObject({ matchExpressions: z.array(expression).min(1).max(listedMax) }).optional(),
});

export const ingestionRuleShape = strictObject({
  id: sentId.optional(),
  displayName: nameText.optional(),
  /** Name of the environment whose rows the rule is for; absent: every one. */
  cluster: nameText.optional(),
  rules: z.array(exclusion).min(1).max(listedMax),
}).meta({ id: "IngestionRule" });

export type IngestionRule = z.infer<typeof ingestionRuleShape>;
