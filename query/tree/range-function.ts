import type { RangeFunction } from "./expression.ts";
import type { TelemetrySelector } from "./selector.ts";

/** A selector, alone or in a function of its window: what an aggregation reads from the store by itself. */
export type SelectorRead = TelemetrySelector | RangeFunction;

export function isSelectorRead(node: { readonly kind: string }): node is SelectorRead {
  return node.kind === "selector" || node.kind === "rangeFunction";
}

export function selectorOf(read: SelectorRead): TelemetrySelector {
  return read.kind === "rangeFunction" ? read.of : read;
}
