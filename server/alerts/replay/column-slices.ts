/** Series that were read at once, handed to a dry run in successive ranges of time. */

import type { SeriesColumns } from "../../../query/index.ts";
import type { ReadSeries } from "../state/read-series.ts";

/** The points of one series as columns: starts of buckets in Unix milliseconds, ascending, and values. */
export interface ReplaySeries {
  labels: Record<string, string>;
  times: readonly number[];
  values: readonly number[];
}

/** Copies the columns of an answer, series by series. */
export function* copySeries(columns: SeriesColumns): Generator<ReplaySeries> {
  for (let position = 0; position < columns.length; position++) {
    const times: number[] = [];
    const values: number[] = [];
    columns.eachPoint(position, (ms, value) => {
      times.push(ms);
      values.push(value);
    });
    yield { labels: columns.labels(position), times, values };
  }
}

/** Returns a reader of successive ranges: each begins where the one before it ended. Points are visited once in all. */
export function sliceSeries(series: readonly ReplaySeries[]): (fromMs: number, toMs: number) => ReadSeries[] {
  const next = new Uint32Array(series.length);
  return (fromMs, toMs) => {
    const found: ReadSeries[] = [];
    for (const [i, { labels, times, values }] of series.entries()) {
      let at = next[i]!;
      const points: [number, number][] = [];
      for (; at < times.length && times[at]! < toMs; at++) {
        if (times[at]! >= fromMs) points.push([times[at]!, values[at]!]);
      }
      next[i] = at;
      if (points.length > 0) found.push({ labels, points });
    }
    return found;
  };
}
