import type { Step } from "../../engine/index.ts";
import { refuse } from "../text/source.ts";
import type { TelemetrySelector } from "../tree/selector.ts";
import type { Stage } from "../tree/stage.ts";
import type { PlanContext } from "./context.ts";
import { planMatcher } from "./matcher.ts";
import { planStage } from "./stage.ts";

/** What a selector keeps of the rows of its signal. Throws a QueryError where it cannot be planned. */
export function planSelector(node: TelemetrySelector, context: PlanContext): Step[] {
  context.signal = node.of.kind === "signal" ? node.of.name : "metrics";
  context.extracted = new Set();
  const matchers = node.matchers.map(
    (each): Step => ({ kind: "filter", filter: planMatcher(each, context) }),
  );
  // One after the other: a stage says what the stages behind it can read.
  return [
    ...matchers,
    ...node.stages.flatMap((each) => {
      checkReadable(node, each, context);
      return planStage(each, context);
    }),
  ];
}

/** Text stages and extraction read a text, which samples lack; a span has its name, of which nothing is extracted. */
function checkReadable(node: TelemetrySelector, stage: Stage, context: PlanContext): void {
  if (stage.kind === "labelFilter" || (stage.kind === "lineFilter" && context.signal !== "metrics")) return;
  const what = stage.kind === "lineFilter" ? `\`${stage.operator}\`` : `\`| ${stage.kind}\``;
  const spans = `${what} reads the messages of logs, which spans do not have`;
  if (context.signal === "traces") refuse(context.source, node, spans);
  const samples = `${what} reads text, and samples of a metric have no text`;
  if (context.signal === "metrics") refuse(context.source, node, samples);
}
