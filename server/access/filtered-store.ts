/** A store as one caller sees it: every read is narrowed before anything else looks at a row. */

import {
  emptyScanStatistics,
  type Filter,
  type MetricName,
  type Signal,
  type Step,
} from "../../engine/index.ts";
import type { SearchableStore } from "./searchable.ts";

/** What the caller may read of a signal. */
export type RowFilterOf = (signal: Signal) => Filter;

/** How much was read to find it tells of rows that the caller may not see. */
const untold = emptyScanStatistics;

/** The steps of a query with what the caller may read before all of them. */
export function filteredSteps(filter: Filter, steps: readonly Step[]): Step[] {
  return [{ kind: "filter", filter }, ...steps];
}

export function filteredStore(store: SearchableStore, readable: RowFilterOf): SearchableStore {
  const narrowed = <Query extends { steps: Step[] }>(signal: Signal, query: Query): Query => {
    return { ...query, steps: filteredSteps(readable(signal), query.steps) };
  };
  return {
    search: async (query, limits) => {
      return { ...(await store.search(narrowed(query.signal, query), limits)), scanned: untold() };
    },
    aggregate: async (query, limits) => {
      return { ...(await store.aggregate(narrowed(query.signal, query), limits)), scanned: untold() };
    },
    aggregateSamples: async (query, limits) => {
      return { ...(await store.aggregateSamples(narrowed("metrics", query), limits)), scanned: untold() };
    },
    countFields: (query, limits) => store.countFields(narrowed(query.signal, query), limits),
    seriesLabels: (query, limits) => store.seriesLabels(narrowed("metrics", query), limits),
    // The store lists keys by the day, whoever's rows bear them: nothing is listed, and so nothing is called unknown.
    attributeKeys: () => ({ keys: [], isWhole: false }),
    metricNames: async (fromNs, toNs, limits) => {
      const readableNames = new Map<string, MetricName>();
      for (const each of await store.metricNames(fromNs, toNs, limits)) {
        if (readableNames.has(each.name)) continue;
        const asked = narrowed("metrics", { name: each.name, fromNs, toNs, steps: [], limit: 1 });
        const [mostBorne] = await store.seriesLabels(asked, limits);
        if (mostBorne !== undefined) readableNames.set(each.name, { ...each, series: mostBorne.series });
      }
      return [...readableNames.values()];
    },
  };
}
