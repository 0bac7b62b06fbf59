/** Ingestion rules: telemetry that does not leave its cluster (interface specification, section 2.5). */

import * as z from "zod";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { longText, nameText, strictObject } from "./schema.ts";

export const excludableSignals = ["logs", "metrics", "traces", "profiles", "kubernetesResources"] as const;
export type ExcludableSignal = (typeof excludableSignals)[number];

const expression = strictObject({
  key: nameText,
  /** RegexIn: RE2 syntax, found anywhere in the value. */
  operator: z.enum(["In", "RegexIn"]),
  values: z.array(longText).min(1).max(listedMax),
});

const exclusion = strictObject({
  /** A custom resource names logs and traces alone. */
  signals: z.array(z.enum(excludableSignals)).min(1).max(excludableSignals.length),
  action: z.literal("Exclude"),
  /** Left out: everything of these signals. */
  match: strictObject({ matchExpressions: z.array(expression).min(1).max(listedMax) }).optional(),
});

export const ingestionRuleShape = strictObject({
  id: sentId.optional(),
  displayName: nameText.optional(),
  /** The name of an environment, whose rows it is for; left out: every one. */
  cluster: nameText.optional(),
  rules: z.array(exclusion).min(1).max(listedMax),
}).meta({ id: "IngestionRule" });

export type IngestionRule = z.infer<typeof ingestionRuleShape>;
