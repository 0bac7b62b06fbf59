/**
 * An alert on what enters a system, as somebody would write it who knows nothing of its faults: each service that is
 * called from outside fires where its slow calls take half as long again as usual, or where there are half as many
 * errors again as usual.
 */

import type { Store } from "../../engine/index.ts";
import { queryTimeseries } from "../../query/index.ts";

const bucketSeconds = 60;
const timesUsual = 1.5;
const queries = [
  'trace_duration_quantile(0.9, traces{parent_span_id=""}) by (service.name)',
  'count(logs{log_level="error"})',
];

/** A fire: the end of the first bucket that breaches after one that does not, Unix milliseconds. */
export interface EntryFire {
  firedAtMs: number;
  bucketSeconds: number;
}

/** The fires of a range, the first one first. */
export async function findEntryFires(
  store: Store,
  range: { startMs: number; endMs: number },
): Promise<EntryFire[]> {
  const found: EntryFire[] = [];
  for (const query of queries) {
    const { series } = await queryTimeseries(store, { query, ...range, bucketSeconds });
    for (const { points } of series) {
      const values = points.map(([, value]) => value).sort((a, b) => a - b);
      const limit = timesUsual * (values[Math.floor(values.length / 2)] ?? Number.POSITIVE_INFINITY);
      let wasBreaching = false;
      let lastMs = Number.NEGATIVE_INFINITY;
      for (const [ms, value] of points) {
        const isNext = ms - lastMs <= bucketSeconds * 1_000;
        const isBreaching = value > limit;
        if (isBreaching && !(wasBreaching && isNext))
          found.push({ firedAtMs: ms + bucketSeconds * 1_000, bucketSeconds });
        wasBreaching = isBreaching;
        lastMs = ms;
      }
    }
  }
  return found.sort((a, b) => a.firedAtMs - b.firedAtMs);
}
