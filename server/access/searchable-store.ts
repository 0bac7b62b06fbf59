/** The store as searches see it. */

import type { Store } from "../../engine/index.ts";

/** The read methods that searches call. For a caller with restricted rights, `filterStore` filters what they read. */
export type SearchableStore = Pick<
  Store,
  | "search"
  | "aggregate"
  | "aggregateSamples"
  | "countTemplates"
  | "attributeKeys"
  | "metricNames"
  | "seriesLabels"
  | "countFields"
  | "countValues"
  | "readColumns"
>;
