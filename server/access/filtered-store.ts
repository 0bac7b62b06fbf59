/** A store with a row-level filter: every read is filtered by what the caller may read, before any other step. */

import {
  emptyScanStatistics,
  type Filter,
  type MetricName,
  type Signal,
  type Step,
} from "../../engine/index.ts";
import type { SearchableStore } from "./searchable-store.ts";

/** The row-level filter of the caller for a signal. */
export type RowFilterOf = (signal: Signal) => Filter;

/** Callers get empty statistics: how much a scan reads depends on rows that they may not see. */
const emptyStatistics = emptyScanStatistics;

/** The steps of a query behind the row-level filter. */
export function filterSteps(filter: Filter, steps: readonly Step[]): Step[] {
  return [{ kind: "filter", filter }, ...steps];
}

/** The store, reading only the rows that pass the filter of their signal. Scan statistics are empty. */
export function filterStore(store: SearchableStore, rowFilter: RowFilterOf): SearchableStore {
  const restrict = <Query extends { steps: Step[] }>(signal: Signal, query: Query): Query => {
    return { ...query, steps: filterSteps(rowFilter(signal), query.steps) };
  };
  return {
    search: async (query, limits) => {
      return { ...(await store.search(restrict(query.signal, query), limits)), scanned: emptyStatistics() };
    },
    aggregate: async (query, limits) => {
      return {
        ...(await store.aggregate(restrict(query.signal, query), limits)),
        scanned: emptyStatistics(),
      };
    },
    aggregateSamples: async (query, limits) => {
      return {
        ...(await store.aggregateSamples(restrict("metrics", query), limits)),
        scanned: emptyStatistics(),
      };
    },
    countFields: (query, limits) => store.countFields(restrict(query.signal, query), limits),
    seriesLabels: (query, limits) => store.seriesLabels(restrict("metrics", query), limits),
    // The store's list ignores the filter. An empty list that is marked incomplete makes no key count as unknown.
    attributeKeys: () => ({ keys: [], isWhole: false }),
    metricNames: async (fromNs, toNs, limits) => {
      const readableNames = new Map<string, MetricName>();
      for (const each of await store.metricNames(fromNs, toNs, limits)) {
        if (readableNames.has(each.name)) continue;
        const query = restrict("metrics", { name: each.name, fromNs, toNs, steps: [], limit: 1 });
        const [mostFrequent] = await store.seriesLabels(query, limits);
        if (mostFrequent !== undefined)
          readableNames.set(each.name, { ...each, series: mostFrequent.series });
      }
      return [...readableNames.values()];
    },
  };
}
