import type { Step } from "../../engine/index.ts";
import type { PlanContext } from "../context.ts";

/** `| json`: the members of a message that is a JSON object become attributes. */
export interface JsonStage {
  readonly kind: "json";
}

export const jsonStage: JsonStage = Object.freeze({ kind: "json" });

export function printJsonStage(): string {
  return "| json";
}

export function jsonSteps(context: PlanContext): Step[] {
  context.extracted = "any";
  return [{ kind: "extract", extractor: { kind: "json" } }];
}
