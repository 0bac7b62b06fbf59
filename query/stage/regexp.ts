import type { Step } from "../../engine/index.ts";
import { noteExtracted, type PlanContext } from "../context.ts";
import { groupNames, readPattern } from "../regular-expression.ts";
import { refuse } from "../source.ts";
import { printText, type Text } from "../string.ts";

/** `| regexp "took (?P<ms>[0-9]+)"`: named groups become attributes. */
export interface RegexpStage {
  readonly kind: "regexp";
  readonly pattern: Text;
}

export function regexpStage(pattern: Text): RegexpStage {
  return Object.freeze({ kind: "regexp", pattern });
}

export function printRegexpStage(node: RegexpStage): string {
  return `| regexp ${printText(node.pattern)}`;
}

export function regexpSteps(node: RegexpStage, context: PlanContext): Step[] {
  const pattern = readPattern(node.pattern, context);
  const names = groupNames(pattern);
  if (names.length === 0) {
    const problem = 'a regexp stage needs a group with a name, as in "took (?P<ms>[0-9]+)"';
    refuse(context.source, node.pattern, problem);
  }
  noteExtracted(names, context);
  return [{ kind: "extract", extractor: { kind: "regexp", pattern } }];
}
