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

/** The steps of a query after the row-level filter. */
export function filterSteps<S>(filter: Filter, steps: readonly S[]): (S | Step)[] {
  return [{ kind: "filter", filter }, ...steps];
}

/** The answer with statistics that say nothing: how much a scan read depends on rows that the caller may not see. */
function hideStatistics<Answer extends { scanned: unknown }>(answer: Answer): Answer {
  return { ...answer, scanned: emptyScanStatistics() };
}

/** The store, reading only the rows that pass the filter of their signal. Scan statistics are empty. */
export function filterStore(store: SearchableStore, rowFilter: RowFilterOf): SearchableStore {
  const restrict = <Query extends { steps: Step[] }>(signal: Signal, query: Query): Query => {
    return { ...query, steps: filterSteps(rowFilter(signal), query.steps) };
  };
  return {
    search: async (query, limits) => {
      return hideStatistics(await store.search(restrict(query.signal, query), limits));
    },
    aggregate: async (query, limits) => {
      return hideStatistics(await store.aggregate(restrict(query.signal, query), limits));
    },
    countTemplates: async (query, limits) => {
      return hideStatistics(await store.countTemplates(restrict(query.signal, query), limits));
    },
    aggregateSamples: async (query, limits) => {
      return hideStatistics(await store.aggregateSamples(restrict("metrics", query), limits));
    },
    countFields: (query, limits) => store.countFields(restrict(query.signal, query), limits),
    countValues: async (query, limits) => {
      return hideStatistics(await store.countValues(restrict(query.signal, query), limits));
    },
    readColumns: async (query, limits) => {
      return hideStatistics(await store.readColumns(restrict(query.signal, query), limits));
    },
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
