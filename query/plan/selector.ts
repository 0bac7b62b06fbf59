import type { Step } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { TelemetrySelector } from "../tree/selector.ts";
import type { Stage } from "../tree/stage.ts";
import type { PlanContext } from "./context.ts";
import { planMatcher } from "./matcher.ts";
import { planStage } from "./stage.ts";

/** The steps that keep only the rows that a selector selects. Throws a QueryError. */
export function planSelector(node: TelemetrySelector, context: PlanContext): Step[] {
  context.signal = node.of.kind === "signal" ? node.of.name : "metrics";
  context.extracted = new Set();
  const matchers = node.matchers.map(
    (matcher): Step => ({ kind: "filter", filter: planMatcher(matcher, context) }),
  );
  // Stages are planned in their order, as a stage changes which names later stages may read without a warning.
  return [
    ...matchers,
    ...node.stages.flatMap((stage) => {
      checkReadable(node, stage, context);
      return planStage(stage, context);
    }),
  ];
}

/**
 * Throws a QueryError where a stage reads a text that rows of the signal lack. Samples have no text. Spans have a name,
 * which line filters read, but no text that attributes could be extracted from.
 */
function checkReadable(node: TelemetrySelector, stage: Stage, context: PlanContext): void {
  if (stage.kind === "labelFilter" || (stage.kind === "lineFilter" && context.signal !== "metrics")) return;
  const what = stage.kind === "lineFilter" ? `\`${stage.operator}\`` : `\`| ${stage.kind}\``;
  const spans = `${what} reads the messages of logs, which spans do not have`;
  if (context.signal === "traces") refuse(context.source, node, spans);
  const samples = `${what} reads text, and samples of a metric have no text`;
  if (context.signal === "metrics") refuse(context.source, node, samples);
}
