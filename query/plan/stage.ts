import type { Filter, PatternPart, Step } from "../../engine/index.ts";
import type { Span } from "../text/query-error.ts";
import { refuse, refuseWithin } from "../text/source.ts";
import type {
  Condition,
  LabelFilter,
  LineSign,
  LineStage,
  Needle,
  PatternStage,
  RegexpStage,
  Stage,
} from "../tree/stage.ts";
import { countCondition, noteExtracted, type PlanContext } from "./context.ts";
import { textField } from "./field.ts";
import { matcherFilter } from "./matcher.ts";
import { groupNames, patternFilter, readPattern } from "./regexp.ts";
import { resolveText } from "./variables.ts";

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

/** A text passes `|=` and `|~` if it has any of the texts, `!=` and `!~` if it has none of them. */
function lineSteps(node: LineStage, context: PlanContext): Step[] {
  const any: Filter = { kind: "or", of: node.needles.map((each) => needleFilter(each, node.sign, context)) };
  return [{ kind: "filter", filter: node.sign.startsWith("!") ? { kind: "not", of: any } : any }];
}

function needleFilter(node: Needle, sign: LineSign, context: PlanContext): Filter {
  countCondition(context, node);
  const field = textField(context.signal);
  if (sign.endsWith("=")) {
    return { kind: "contains", field, text: resolveText(node.text, context), ignoreCase: node.ignoreCase };
  }
  return patternFilter(field, readPattern(node.text, context), { ignoreCase: node.ignoreCase, whole: false });
}

function jsonSteps(context: PlanContext): Step[] {
  context.extracted = "any";
  return [{ kind: "extract", extractor: { kind: "json" } }];
}

function logfmtSteps(context: PlanContext): Step[] {
  context.extracted = "any";
  return [{ kind: "extract", extractor: { kind: "logfmt" } }];
}

/** Throws a QueryError that points into the pattern where it cannot be told what a capture covers. */
function patternSteps(node: PatternStage, context: PlanContext): Step[] {
  const pattern = resolveText(node.pattern, context);
  const refuseAt = (capture: Span, problem: string) =>
    refuseWithin(context.source, node.pattern, capture, problem);
  const parts: PatternPart[] = [];
  const names = new Set<string>();
  let literalFrom = 0;
  for (const { 0: capture, 1: name, index } of pattern.matchAll(/<([A-Za-z_][A-Za-z0-9_.]*)>/g)) {
    const span = { start: index, end: index + capture.length };
    if (index > literalFrom) parts.push({ kind: "literal", text: pattern.slice(literalFrom, index) });
    else if (parts.length > 0) refuseAt(span, `two captures need text between them, before ${capture}`);
    if (name! !== "_" && names.has(name!)) refuseAt(span, `two captures have the name ${name}`);
    if (name! !== "_") names.add(name!);
    parts.push({ kind: "capture", name: name === "_" ? null : name! });
    literalFrom = span.end;
  }
  if (literalFrom < pattern.length) parts.push({ kind: "literal", text: pattern.slice(literalFrom) });
  if (names.size === 0) {
    refuse(context.source, node.pattern, 'a pattern needs a capture with a name, as in "<ip> <_> <path>"');
  }
  noteExtracted(names, context);
  return [{ kind: "extract", extractor: { kind: "pattern", parts } }];
}

function regexpSteps(node: RegexpStage, context: PlanContext): Step[] {
  const pattern = readPattern(node.pattern, context);
  const names = groupNames(pattern);
  if (names.length === 0) {
    const problem = 'a regexp stage needs a group with a name, as in "took (?P<ms>[0-9]+)"';
    refuse(context.source, node.pattern, problem);
  }
  noteExtracted(names, context);
  return [{ kind: "extract", extractor: { kind: "regexp", pattern } }];
}

function labelFilterSteps(node: LabelFilter, context: PlanContext): Step[] {
  return [{ kind: "filter", filter: conditionFilter(node.condition, context) }];
}

function conditionFilter(node: Condition, context: PlanContext): Filter {
  if (node.kind === "matcher") return matcherFilter(node, context);
  return { kind: node.kind, of: node.of.map((each) => conditionFilter(each, context)) };
}
