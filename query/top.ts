import { compareLabels, type SeriesVector, total } from "./series.ts";
import type { TopSeries } from "./series-plan.ts";

/** The series with the greatest (or least) sum of their points, the first first; series of one sum in the order of their labels. */
export function topSeries(plan: Omit<TopSeries, "of">, series: readonly SeriesVector[]): SeriesVector[] {
  const sign = plan.op === "topk" ? -1 : 1;
  const ranked = series.map((each) => ({ each, rank: sign * total(each) }));
  ranked.sort((a, b) => a.rank - b.rank || compareLabels(a.each, b.each));
  const taken = new Map<string, number>();
  return ranked.flatMap(({ each }) => {
    const among = amongLabels(plan, each);
    const place = taken.get(among) ?? 0;
    taken.set(among, place + 1);
    return place < plan.count ? [each] : [];
  });
}

/** What series have in common that are ranked with each other. */
function amongLabels({ among }: Pick<TopSeries, "among">, { labels }: SeriesVector): string {
  const isKept = ([name]: [string, string]) => among.labels.includes(name) === (among.kind === "by");
  return JSON.stringify(labels.filter(isKept));
}
