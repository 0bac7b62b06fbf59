import { refuse } from "../text/source.ts";
import { isOrderedStage, type Stage, type TelemetrySelector } from "../tree/selector.ts";
import type { RowStage } from "../tree/stage.ts";
import type { PlanContext } from "./context.ts";
import { spanDuration } from "./field.ts";
import { planMatcher } from "./matcher.ts";
import { planOrderedStage } from "./ordered/ordered-stage.ts";
import type { PlanStep } from "./ordered/ordered-step.ts";
import { planStage } from "./stages/stage.ts";

/** The steps that keep only the rows that a selector selects. Throws a QueryError. */
export function planSelector(node: TelemetrySelector, context: PlanContext): PlanStep[] {
  context.signal = node.of.kind === "signal" ? node.of.name : "metrics";
  context.extracted = new Set();
  context.joined = new Map();
  context.calculated = new Set();
  context.milliseconds = new Set(context.signal === "traces" ? [spanDuration] : []);
  const matchers = node.matchers.map(
    (matcher): PlanStep => ({ kind: "filter", filter: planMatcher(matcher, context) }),
  );
  // Stages are planned in their order, as a stage changes which names later stages may read without a warning.
  const firstOrdered = node.stages.findIndex(isOrderedStage);
  return [
    ...matchers,
    ...node.stages.flatMap((stage, i): PlanStep[] => {
      if (isOrderedStage(stage)) return [planOrderedStage(stage, context, planSelector)];
      checkReadable(node, stage, context);
      if (firstOrdered >= 0 && i > firstOrdered)
        checkFiltering(node.stages, i, node.stages[firstOrdered]!, context);
      return planStage(stage, context);
    }),
  ];
}

/** The word that a stage begins with. */
function wordOf(kind: RowStage["kind"]): string {
  if (kind === "lineFormat") return "line_format";
  return kind === "labelFormat" ? "label_format" : kind;
}

/**
 * Throws a QueryError for extraction after a stage over several rows, whose rows were read by then, and for formats
 * before another stage.
 */
function checkFiltering(stages: readonly Stage[], place: number, ordered: Stage, context: PlanContext): void {
  const { kind } = stages[place] as RowStage;
  if (kind === "labelFilter" || kind === "lineFilter") return;
  const isFormat = kind === "lineFormat" || kind === "labelFormat";
  if (
    isFormat &&
    stages.slice(place).every((each) => each.kind === "lineFormat" || each.kind === "labelFormat")
  )
    return;
  const where = isFormat
    ? "before this stage, which looks at several rows, or after all others"
    : "before this stage, which looks at several rows; after it stand filters";
  refuse(context.source, ordered, `\`| ${wordOf(kind)}\` stands ${where}`);
}

/**
 * Throws a QueryError where a stage reads a text that rows of the signal lack. Samples have no text. Spans have a name,
 * which line filters read, but no text that attributes could be extracted from.
 */
function checkReadable(node: TelemetrySelector, stage: RowStage, context: PlanContext): void {
  const isOfMessage = stage.kind === "lineFilter" && context.signal !== "metrics";
  const isOfLabels = stage.kind === "labelFormat" && context.signal !== "metrics";
  if (stage.kind === "labelFilter" || isOfMessage || isOfLabels) return;
  const what = stage.kind === "lineFilter" ? `\`${stage.operator}\`` : `\`| ${wordOf(stage.kind)}\``;
  const spans = `${what} reads the messages of logs, which spans do not have`;
  if (context.signal === "traces") refuse(context.source, node, spans);
  const samples = `${what} reads text, and samples of a metric have no text`;
  if (context.signal === "metrics") refuse(context.source, node, samples);
}
