/** The store as searches see it. */

import type { Store } from "../../engine/index.ts";

/** The reads of a store that searches use; a caller with restricted rights gets a filtered one. */
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
