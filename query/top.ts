import { compareTexts, labelKeys, labelsOf, type SeriesSet } from "./series.ts";
import type { TopSeries } from "./series-plan.ts";

/** The series with the greatest (or least) sum of their points, the first first; series of one sum in the order of their labels. */
export function topSeries({ op, count, among }: Omit<TopSeries, "of">, set: SeriesSet): SeriesSet {
  const totals = totalsOf(set);
  const sign = op === "topk" ? -1 : 1;
  const keyOf = labelKeys(set);
  const compare = (a: number, b: number) =>
    sign * (totals[a]! - totals[b]!) || compareTexts(keyOf(a), keyOf(b));
  // Without labels all series are ranked with each other, as they are with labels that none of them has.
  const isWhole = among.kind === "by" && !among.labels.some((label) => set.names().includes(label));
  if (isWhole)
    return {
      ...set,
      order: first(set.order, count, (series) => sign * totals[series]!)
        .sort(compare)
        .slice(0, count),
    };
  const taken = new Map<string, number>();
  const order = set.order.slice().sort(compare);
  return {
    ...set,
    order: order.filter((series) => {
      const key = JSON.stringify(
        labelsOf(set, series).filter(([name]) => among.labels.includes(name) === (among.kind === "by")),
      );
      const place = taken.get(key) ?? 0;
      taken.set(key, place + 1);
      return place < count;
    }),
  };
}

/** The series of the `count` least ranks and all that equal the last of them: what a full sort needs to look at. */
function first(order: Uint32Array, count: number, rankOf: (series: number) => number): Uint32Array {
  if (order.length <= count) return order.slice();
  const ranks = Float64Array.from(order, rankOf).sort();
  const bound = ranks[count - 1]!;
  return order.filter((series) => rankOf(series) <= bound);
}

/** The sum of each series' points, by number. */
function totalsOf({ starts, values }: SeriesSet): Float64Array {
  const totals = new Float64Array(starts.length - 1);
  for (let series = 0; series < totals.length; series++) {
    let total = 0;
    for (let point = starts[series]!; point < starts[series + 1]!; point++) total += values[point]!;
    totals[series] = total;
  }
  return totals;
}
