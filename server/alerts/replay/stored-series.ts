/** Reads from the store what a replay judges. */

import type { QueryLimits } from "../../../engine/index.ts";
import {
  isUnlabelled,
  planTimeseries,
  queryTimeseries,
  type SeriesStore,
  WorkDeadline,
} from "../../../query/index.ts";
import { refuseFailedQuery } from "../../model/query-refusal.ts";
import { type AlertDefinition, queryOf } from "../state/alert-definition.ts";
import { dryRunRange } from "../state/dry-run.ts";
import { copySeries, type ReplaySeries } from "./column-slices.ts";
import { checkBuckets, type ReplaySource } from "./replay.ts";

/** The path of an alert's query below the alert. */
const queryPath = "timeseries.expression.svcQLTimeseries.query";

/**
 * Reads the series that a replay of a range needs. `path` is that of the alert in the request. Throws Refusal 400 where
 * the query fails, and what the store throws.
 */
export async function readSource(
  store: SeriesStore,
  alert: AlertDefinition,
  range: ReplaySource["range"],
  path: string,
  limits: QueryLimits,
): Promise<{ source: ReplaySource; warnings: readonly string[] }> {
  const work = new WorkDeadline(performance.now(), limits);
  const { query, bucketSeconds } = queryOf(alert);
  const buckets = dryRunRange(alert, range);
  checkBuckets(alert, buckets);
  const plan = planTimeseries(query);
  const { columns, warnings } = await refuseFailedQuery(
    `${path}.${queryPath}`,
    queryTimeseries(
      store,
      { query, plan, bucketSeconds, startMs: buckets.readFromMs, endMs: buckets.toMs - 1 },
      limits,
    ),
  );
  const series: ReplaySeries[] = [];
  for (const each of copySeries(columns)) {
    series.push(each);
    if (work.isTurnOver(1 + each.times.length)) await work.yield();
  }
  return {
    source: { alert, range, unlabelled: isUnlabelled(plan.series, plan.scans), series, work },
    warnings,
  };
}
