import type { PatternPart, Step } from "../../engine/index.ts";
import { noteExtracted, type PlanContext } from "../context.ts";
import type { Span } from "../query-error.ts";
import { refuse, refuseWithin } from "../source.ts";
import { printText, resolveText, type Text } from "../string.ts";

/** `| pattern "<ip> <_> <path>"`: captures between literal text become attributes. */
export interface PatternStage {
  readonly kind: "pattern";
  readonly pattern: Text;
}

export function patternStage(pattern: Text): PatternStage {
  return Object.freeze({ kind: "pattern", pattern });
}

export function printPatternStage(node: PatternStage): string {
  return `| pattern ${printText(node.pattern)}`;
}

/** Throws a QueryError that points into the pattern where it cannot be told what a capture covers. */
export function patternSteps(node: PatternStage, context: PlanContext): Step[] {
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
