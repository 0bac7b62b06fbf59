import type { rangeFunctions } from "../text/keywords.ts";
import { printSelector, type TelemetrySelector } from "./selector.ts";

export type RangeFunctionName = (typeof rangeFunctions)[number];

/** A function of what a series, or the rows of a group, have in a window of time: `rate(…[5m])`, `max_over_time(…)`. */
export interface RangeFunction {
  readonly kind: "rangeFunction";
  readonly op: RangeFunctionName;
  readonly of: TelemetrySelector;
}

export function makeRangeFunction(op: RangeFunctionName, of: TelemetrySelector): RangeFunction {
  return Object.freeze({ kind: "rangeFunction", op, of });
}

export function printRangeFunction(node: RangeFunction): string {
  return `${node.op}(${printSelector(node.of)})`;
}
