import type { TopSeries } from "../plan/series-plan.ts";
import { keptLabelsOf } from "./matching.ts";
import { compareTexts, labelKeyOf, makeLabelKeyReader, type SeriesSet } from "./series-set.ts";

/**
 * Selects the `count` series with the greatest (`topk`) or the least (`bottomk`) sum of points, in each group of
 * `among`. All selected series are ordered by their sums, and by their labels where sums are equal.
 */
export function selectTopSeries({ op, count, among }: Omit<TopSeries, "of">, set: SeriesSet): SeriesSet {
  const totals = totalsOf(set);
  const sign = op === "topk" ? -1 : 1;
  const keyOf = makeLabelKeyReader(set);
  const compare = (a: number, b: number) =>
    sign * (totals[a]! - totals[b]!) || compareTexts(keyOf(a), keyOf(b));
  // Without `by`, all series are one group. They also are where no series has any of the labels of `by`.
  const isOneGroup = among.kind === "by" && !among.labels.some((label) => set.names().includes(label));
  if (isOneGroup) {
    const rankOf = (series: number) => sign * totals[series]!;
    return { ...set, order: selectLeastRanked(set, count, rankOf).sort(compare) };
  }
  const countByGroup = new Map<string, number>();
  const order = set.order.slice().sort(compare);
  return {
    ...set,
    order: order.filter((series) => {
      const key = JSON.stringify(keptLabelsOf(set, series, among));
      const rank = countByGroup.get(key) ?? 0;
      countByGroup.set(key, rank + 1);
      return rank < count;
    }),
  };
}

/** The `count` series with the least `rankOf`, unordered. Of series with equal rank, those whose labels sort first. */
function selectLeastRanked(set: SeriesSet, count: number, rankOf: (series: number) => number): Uint32Array {
  const { order } = set;
  if (order.length <= count) return order.slice();
  const bound = Float64Array.from(order, rankOf).sort()[count - 1]!;
  const below = order.filter((series) => rankOf(series) < bound);
  const tied = order.filter((series) => rankOf(series) === bound);
  const left = count - below.length;
  return Uint32Array.from([
    ...below,
    ...(tied.length === left ? tied : selectLeastLabelled(set, tied, left)),
  ]);
}

/**
 * The `count` of the `tied` series whose labels sort first. At most twice as many keys are held at a time, as a million
 * series may be tied.
 */
function selectLeastLabelled(set: SeriesSet, tied: Uint32Array, count: number): number[] {
  let kept: { series: number; key: string }[] = [];
  let bound: string | undefined;
  const keepLeast = () => {
    kept.sort((a, b) => compareTexts(a.key, b.key));
    kept = kept.slice(0, count);
    bound = kept.at(-1)?.key;
  };
  for (const series of tied) {
    const key = labelKeyOf(set, series);
    if (bound !== undefined && key >= bound) continue;
    kept.push({ series, key });
    if (kept.length === 2 * count) keepLeast();
  }
  keepLeast();
  return kept.map(({ series }) => series);
}

/** The sum of the points of each series, by index of the series. */
function totalsOf({ starts, values }: SeriesSet): Float64Array {
  const totals = new Float64Array(starts.length - 1);
  for (let series = 0; series < totals.length; series++) {
    let total = 0;
    for (let point = starts[series]!; point < starts[series + 1]!; point++) total += values[point]!;
    totals[series] = total;
  }
  return totals;
}
