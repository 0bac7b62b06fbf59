import { makeReplacer } from "../plan/regexp.ts";
import type { RelabelledSeries } from "../plan/series-plan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { AmbiguousMatchError } from "./binary-operation.ts";
import { type LabelPair, labelsOf, type SeriesSet } from "./series-set.ts";
import { SeriesUnion } from "./set-operation.ts";

/**
 * Sets a label of the series whose source label matches. An empty text removes the label. Series that get equal labels
 * become one; throws an AmbiguousMatchError where two of them have a point in one bucket.
 */
export async function relabelSeries(
  { label, replacement, source, pattern }: Omit<RelabelledSeries, "of">,
  set: SeriesSet,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const replace = cacheResults(makeReplacer(pattern, replacement));
  const union = new SeriesUnion(work);
  for (const series of set.order) {
    const text = replace(set.labelOf(series, source));
    const labels = labelsOf(set, series);
    const changed = text === undefined ? labels : setLabel(labels, label, text);
    const isTaken = union.takenBuckets(changed);
    const isNew = (bucket: number) => {
      if (isTaken(bucket)) throw makeCollisionError(changed);
      return true;
    };
    await union.add(set, series, isNew, changed);
    if (work.isTurnOver()) await work.yield();
  }
  return union.build();
}

function setLabel(labels: readonly LabelPair[], label: string, text: string): LabelPair[] {
  const others = labels.filter(([name]) => name !== label);
  return text === "" ? others : [...others, [label, text]];
}

function makeCollisionError(labels: readonly LabelPair[]): AmbiguousMatchError {
  const listed = labels.map(([name, text]) => `${name}=${JSON.stringify(text)}`).join(", ");
  return new AmbiguousMatchError(
    `label_replace makes two series with the labels {${listed}}, which have points in one bucket; aggregate them first`,
  );
}

/** Many series have the same text, and a match takes longer than a look-up. */
function cacheResults<Result>(compute: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>();
  return (text) => {
    if (known.has(text)) return known.get(text)!;
    const result = compute(text);
    known.set(text, result);
    return result;
  };
}
