import type { Step } from "../../engine/index.ts";
import type { PlanContext } from "../context.ts";

/** `| logfmt`: the `key=value` pairs of a message become attributes. */
export interface LogfmtStage {
  readonly kind: "logfmt";
}

export const logfmtStage: LogfmtStage = Object.freeze({ kind: "logfmt" });

export function printLogfmtStage(): string {
  return "| logfmt";
}

export function logfmtSteps(context: PlanContext): Step[] {
  context.extracted = "any";
  return [{ kind: "extract", extractor: { kind: "logfmt" } }];
}
