import type { Filter, PatternPart, Step } from "../../../engine/index.ts";
import type { TextSpan } from "../../text/query-error.ts";
import { refuse, refuseWithin } from "../../text/source.ts";
import type {
  LabelCondition,
  LineFilter,
  LineFilterOperator,
  LineFilterText,
  PatternStage,
  RegexpStage,
  RowStage,
} from "../../tree/stage.ts";
import { countCondition, noteExtractedNames, type PlanContext } from "../context.ts";
import { lineFieldOf } from "../field.ts";
import { planMatcher } from "../matcher.ts";
import { groupNamesOf, makeRegexpFilter, resolveRegexp } from "../regexp.ts";
import { resolveString } from "../variables.ts";
import { planFormatStage } from "./format.ts";

/** The steps of a stage. Records the names that it extracts in `context.extracted`. Throws a QueryError. */
export function planStage(node: RowStage, context: PlanContext): Step[] {
  switch (node.kind) {
    case "lineFilter":
      return planLineFilter(node, context);
    case "json":
    case "logfmt":
      context.extracted = "any";
      return [{ kind: "extract", extractor: { kind: node.kind } }];
    case "pattern":
      return planPatternStage(node, context);
    case "regexp":
      return planRegexpStage(node, context);
    case "labelFilter":
      return [{ kind: "filter", filter: planCondition(node.condition, context) }];
    case "lineFormat":
    case "labelFormat":
      return [planFormatStage(node, context)];
  }
}

/**
 * The filter of a line filter. A row passes `|=` and `|~` if at least one of the texts matches, `!=` and `!~` if none
 * does.
 */
function planLineFilter(node: LineFilter, context: PlanContext): Step[] {
  const any: Filter = {
    kind: "or",
    of: node.texts.map((text) => planLineFilterText(text, node.operator, context)),
  };
  return [{ kind: "filter", filter: node.operator.startsWith("!") ? { kind: "not", of: any } : any }];
}

function planLineFilterText(
  node: LineFilterText,
  operator: LineFilterOperator,
  context: PlanContext,
): Filter {
  countCondition(context, node);
  const field = lineFieldOf(context.signal);
  if (operator.endsWith("=")) {
    return { kind: "contains", field, text: resolveString(node.text, context), ignoreCase: node.ignoreCase };
  }
  return makeRegexpFilter(field, resolveRegexp(node.text, context), {
    ignoreCase: node.ignoreCase,
    whole: false,
  });
}

/**
 * Plans a pattern stage. Throws a QueryError where no capture has a name, where two captures have no text between them,
 * and where they have the same name. The last two point at the second capture in the pattern.
 */
function planPatternStage(node: PatternStage, context: PlanContext): Step[] {
  const pattern = resolveString(node.pattern, context);
  const refuseAt = (capture: TextSpan, problem: string) =>
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
  noteExtractedNames(names, context);
  return [{ kind: "extract", extractor: { kind: "pattern", parts } }];
}

function planRegexpStage(node: RegexpStage, context: PlanContext): Step[] {
  const pattern = resolveRegexp(node.pattern, context);
  const names = groupNamesOf(pattern);
  if (names.length === 0) {
    const problem = 'a regexp stage needs a group with a name, as in "took (?P<ms>[0-9]+)"';
    refuse(context.source, node.pattern, problem);
  }
  noteExtractedNames(names, context);
  return [{ kind: "extract", extractor: { kind: "regexp", pattern } }];
}

function planCondition(node: LabelCondition, context: PlanContext): Filter {
  if (node.kind === "matcher") return planMatcher(node, context);
  return { kind: node.kind, of: node.of.map((each) => planCondition(each, context)) };
}
