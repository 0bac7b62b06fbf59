/** Aggregations over the scan threads: their parts become one answer. */
import type { Aggregated, AggregateQuery } from "./aggregation.ts";
import { askShards, type Dispatch, scannedBy } from "./dispatch.ts";
import { Failure } from "./failure.ts";
import { GroupTable } from "./groups.ts";
import { resultBytesMax } from "./limits.ts";
import { PointTable } from "./points.ts";
import type { AggregateAnswer, Control } from "./protocol.ts";

const bucketNsMin = 1_000_000n;

export async function dispatchAggregate(
  dispatch: Dispatch,
  query: AggregateQuery,
  control: Control,
): Promise<Aggregated> {
  const { fromNs, toNs, steps, groupBy, bucketNs, aggregates } = query;
  if (bucketNs !== undefined && bucketNs < bucketNsMin) {
    throw new Failure("input", `bucketNs must be at least ${bucketNsMin}, got ${bucketNs}`);
  }
  const answers = await askShards<AggregateAnswer>(dispatch, query, control, (chunks) => {
    return { kind: "aggregate", chunks, fromNs, toNs, steps, groupBy, bucketNs, aggregates, control };
  });
  const scanned = scannedBy(answers);
  const [first, ...more] = answers;
  if (first !== undefined && more.length === 0) {
    return { groups: groupsOf(first, groupBy.length), points: first.points, scanned };
  }
  return { ...joinAnswers(query, answers, control), scanned };
}

/** The same groups have other numbers in other answers. */
function joinAnswers(
  { groupBy, aggregates }: AggregateQuery,
  answers: readonly AggregateAnswer[],
  control: Control,
): Pick<Aggregated, "groups" | "points"> {
  const groups = new GroupTable(Math.min(resultBytesMax, control.memoryBytesMax));
  const table = new PointTable(aggregates);
  for (const answer of answers) {
    const numberOf = groupsOf(answer, groupBy.length).map((labels) => groups.numberOf(labels));
    const { points } = answer;
    for (let i = 0; i < points.groups.length; i++) {
      const point = table.place(numberOf[points.groups[i]!]!, points.buckets[i]!);
      for (const [aggregate, values] of points.values.entries()) table.join(point, aggregate, values[i]!);
    }
  }
  return { groups: groups.labels, points: table.finish() };
}

function groupsOf({ labels, points }: AggregateAnswer, fields: number): string[][] {
  // Without fields there is one group at most, with no text.
  if (fields === 0) return points.groups.length === 0 ? [] : [[]];
  return Array.from({ length: labels.length / fields }, (_, i) => labels.slice(i * fields, (i + 1) * fields));
}
