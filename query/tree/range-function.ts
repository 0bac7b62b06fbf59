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

/** A selector, alone or in a function of its window: what an aggregation reads from the store by itself. */
export type SelectorRead = TelemetrySelector | RangeFunction;

export function isSelectorRead(node: { readonly kind: string }): node is SelectorRead {
  return node.kind === "selector" || node.kind === "rangeFunction";
}

export function selectorOf(read: SelectorRead): TelemetrySelector {
  return read.kind === "rangeFunction" ? read.of : read;
}

export function printRangeFunction(node: RangeFunction): string {
  return `${node.op}(${printSelector(node.of)})`;
}
