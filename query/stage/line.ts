import type { Filter, Step } from "../../engine/index.ts";
import { countCondition, type PlanContext } from "../context.ts";
import { textField } from "../field.ts";
import { patternFilter, readPattern } from "../regular-expression.ts";
import { printText, resolveText, type Text } from "../string.ts";

export type LineSign = "|=" | "!=" | "|~" | "!~";

/** A text to look for, as it is or, as `i"…"`, without regard to case. */
export interface Needle {
  readonly kind: "needle";
  readonly text: Text;
  readonly ignoreCase: boolean;
}

export function needle(text: Text, ignoreCase: boolean): Needle {
  return Object.freeze({ kind: "needle", text, ignoreCase });
}

/** `|= "text"`, `!= "text"`, `|~ "regex"`, `!~ "regex"` on the message (the name of a span); more texts follow with `or`. */
export interface LineStage {
  readonly kind: "line";
  readonly sign: LineSign;
  readonly needles: readonly Needle[];
}

export function lineStage(sign: LineSign, needles: readonly Needle[]): LineStage {
  return Object.freeze({ kind: "line", sign, needles: Object.freeze([...needles]) });
}

export function printLineStage(node: LineStage): string {
  return `${node.sign} ${node.needles.map(printNeedle).join(" or ")}`;
}

function printNeedle(node: Needle): string {
  return `${node.ignoreCase ? "i" : ""}${printText(node.text)}`;
}

/** A text passes `|=` and `|~` if it has any of the texts, `!=` and `!~` if it has none of them. */
export function lineSteps(node: LineStage, context: PlanContext): Step[] {
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
