import { type Label, printLabel } from "./label.ts";

/** `by (a, b)` or `without (a, b)`: the labels that the series of an aggregation keep, or drop. */
export interface Grouping {
  readonly kind: "by" | "without";
  readonly labels: readonly Label[];
}

export function makeGrouping(kind: "by" | "without", labels: readonly Label[]): Grouping {
  return Object.freeze({ kind, labels: Object.freeze([...labels]) });
}

/** `on (a, b)` or `ignoring (a, b)`: the labels that must be equal, or need not be, for two series to match. */
export interface Matching {
  readonly kind: "on" | "ignoring";
  readonly labels: readonly Label[];
}

export function makeMatching(kind: "on" | "ignoring", labels: readonly Label[]): Matching {
  return Object.freeze({ kind, labels: Object.freeze([...labels]) });
}

export function printGrouping(node: Grouping | Matching): string {
  return `${node.kind} (${node.labels.map(printLabel).join(", ")})`;
}
