import type { Store } from "../../engine/index.ts";

/** The part of a store that searches read; who may not read all of it gets a part that holds less. */
export type SearchableStore = Pick<
  Store,
  | "search"
  | "aggregate"
  | "aggregateSamples"
  | "attributeKeys"
  | "metricNames"
  | "seriesLabels"
  | "countFields"
>;
