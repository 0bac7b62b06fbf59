import type { SortedSeries, TopSeries } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";
import { keptLabelsOf } from "./matching.ts";
import { compareTexts, labelKeyOf, makeLabelKeyReader, type SeriesSet } from "./series-set.ts";

/**
 * Selects the `count` series with the greatest (`topk`) or the least (`bottomk`) sum of points, in each group of
 * `among`. All selected series are ordered by their sums, and by their labels where sums are equal.
 */
export async function selectTopSeries(
  { op, count, among }: Omit<TopSeries, "of">,
  set: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const totals = totalsOf(set);
  const sign = op === "topk" ? -1 : 1;
  const keyOf = makeLabelKeyReader(set);
  const compare = (a: number, b: number) =>
    sign * (totals[a]! - totals[b]!) || compareTexts(keyOf(a), keyOf(b));
  // Without `by`, all series are one group. They also are where no series has any of the labels of `by`.
  const isOneGroup = among.kind === "by" && !among.labels.some((label) => set.names?.includes(label) ?? true);
  if (isOneGroup) {
    const rankOf = (series: number) => sign * totals[series]!;
    const selected = await selectLeastRanked(set, count, rankOf, work);
    return { ...set, order: await sortInTurns(selected, compare, work) };
  }
  const countByGroup = new Map<string, number>();
  const order: number[] = [];
  for (const series of await sortInTurns(set.order, compare, work)) {
    const key = JSON.stringify(keptLabelsOf(set, series, among));
    const rank = countByGroup.get(key) ?? 0;
    countByGroup.set(key, rank + 1);
    if (rank < count) order.push(series);
    if (work.isTurnOver()) await work.yield();
  }
  return { ...set, order: Uint32Array.from(order) };
}

/** Orders series by the sums of their points, and by their labels where sums are equal. */
export async function sortSeries(
  { isDescending }: Pick<SortedSeries, "isDescending">,
  set: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const totals = totalsOf(set);
  const sign = isDescending ? -1 : 1;
  const keyOf = makeLabelKeyReader(set);
  const compare = (a: number, b: number) =>
    compareRanks(sign * totals[a]!, sign * totals[b]!) || compareTexts(keyOf(a), keyOf(b));
  return { ...set, order: await sortInTurns(set.order, compare, work) };
}

/** The `count` series with the least `rankOf`, unordered. Of series with equal rank, those whose labels sort first. */
async function selectLeastRanked(
  set: SeriesSet,
  count: number,
  rankOf: (series: number) => number,
  work: WorkDeadline,
): Promise<Uint32Array> {
  const { order } = set;
  if (order.length <= count) return order.slice();
  const ranks = new Float64Array(order.length);
  for (let i = 0; i < ranks.length; i++) ranks[i] = rankOf(order[i]!);
  await work.yield();
  const bound = await findRank(ranks, count, work);
  const below = order.filter((series) => rankOf(series) < bound);
  await work.yield();
  const tied = order.filter((series) => rankOf(series) === bound);
  await work.yield();
  const left = count - below.length;
  const chosen = tied.length === left ? tied : await selectLeastLabelled(set, tied, left, work);
  const selected = new Uint32Array(below.length + chosen.length);
  selected.set(below);
  selected.set(chosen, below.length);
  return selected;
}

/** Up to this many ranks are kept in order while all are read; more take longer than a sort. Chosen, not measured. */
const keptRanksMax = 64;
/** Ranks that are read between two turns: less than a millisecond. */
const ranksATurn = 16_384;

/** The rank in place `count`, from 1, of all in order; there are more. */
async function findRank(ranks: Float64Array, count: number, work: WorkDeadline): Promise<number> {
  if (count > keptRanksMax) return (await sortInTurns(ranks, compareRanks, work))[count - 1]!;
  const least = ranks.slice(0, count).sort(compareRanks);
  for (let i = count; i < ranks.length; i++) {
    if (i % ranksATurn === 0) await work.yield();
    const rank = ranks[i]!;
    if (compareRanks(rank, least[count - 1]!) >= 0) continue;
    let at = count - 1;
    for (; at > 0 && compareRanks(rank, least[at - 1]!) < 0; at--) least[at] = least[at - 1]!;
    least[at] = rank;
  }
  return least[count - 1]!;
}

/** Orders numbers; NaN, the sum of opposite infinities, comes last. */
function compareRanks(a: number, b: number): number {
  return a - b || Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/**
 * The `count` of the `tied` series whose labels sort first. At most twice as many keys are held at a time, as a million
 * series may be tied.
 */
async function selectLeastLabelled(
  set: SeriesSet,
  tied: Uint32Array,
  count: number,
  work: WorkDeadline,
): Promise<Uint32Array> {
  const series = new Uint32Array(2 * count);
  let keys: string[] = [];
  let bound: string | undefined;
  const keepLeast = async () => {
    const sorted = await sortInTurns(
      Uint32Array.from(keys.keys()),
      (a, b) => compareTexts(keys[a]!, keys[b]!),
      work,
    );
    const least = sorted.subarray(0, count);
    series.set(least.map((position) => series[position]!));
    keys = Array.from(least, (position) => keys[position]!);
    bound = keys.at(-1);
  };
  for (const each of tied) {
    if (work.isTurnOver()) await work.yield();
    const key = labelKeyOf(set, each);
    if (bound !== undefined && key >= bound) continue;
    series[keys.length] = each;
    keys.push(key);
    if (keys.length === 2 * count) await keepLeast();
  }
  await keepLeast();
  return series.subarray(0, keys.length);
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
