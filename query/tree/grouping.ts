import { type Label, printLabel } from "./label.ts";

/** `by (a, b)` or `without (a, b)`: which labels the series of an aggregation keep. */
export interface Grouping {
  readonly kind: "by" | "without";
  readonly labels: readonly Label[];
}

export function makeGrouping(kind: "by" | "without", labels: readonly Label[]): Grouping {
  return Object.freeze({ kind, labels: Object.freeze([...labels]) });
}

/** `on (a, b)` or `ignoring (a, b)`: which labels must be equal for two series to combine. */
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
