import type { Step } from "../engine/index.ts";
import type { PlanContext } from "./context.ts";
import { type JsonStage, jsonSteps, printJsonStage } from "./stage/json.ts";
import { type LabelFilter, labelFilterSteps, printLabelFilter } from "./stage/label-filter.ts";
import { type LineStage, lineSteps, printLineStage } from "./stage/line.ts";
import { type LogfmtStage, logfmtSteps, printLogfmtStage } from "./stage/logfmt.ts";
import { type PatternStage, patternSteps, printPatternStage } from "./stage/pattern.ts";
import { printRegexpStage, type RegexpStage, regexpSteps } from "./stage/regexp.ts";

/** What stands behind a selector: it drops rows or reads attributes out of their messages, from left to right. */
export type Stage = LineStage | JsonStage | LogfmtStage | PatternStage | RegexpStage | LabelFilter;

export function printStage(node: Stage): string {
  switch (node.kind) {
    case "line":
      return printLineStage(node);
    case "json":
      return printJsonStage();
    case "logfmt":
      return printLogfmtStage();
    case "pattern":
      return printPatternStage(node);
    case "regexp":
      return printRegexpStage(node);
    case "labelFilter":
      return printLabelFilter(node);
  }
}

/** What a stage does to rows. Throws a QueryError where it cannot be planned. */
export function stageSteps(node: Stage, context: PlanContext): Step[] {
  switch (node.kind) {
    case "line":
      return lineSteps(node, context);
    case "json":
      return jsonSteps(context);
    case "logfmt":
      return logfmtSteps(context);
    case "pattern":
      return patternSteps(node, context);
    case "regexp":
      return regexpSteps(node, context);
    case "labelFilter":
      return labelFilterSteps(node, context);
  }
}
