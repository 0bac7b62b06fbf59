/** Aggregations over the scan threads: their parts become one answer. */
import type { Aggregated, AggregateQuery } from "./aggregation.ts";
import { askShards, type Dispatch, scannedBy } from "./dispatch.ts";
import { Failure } from "./failure.ts";
import { GroupTable } from "./groups.ts";
import { resultBytesMax } from "./limits.ts";
import { PointTable } from "./points.ts";
import type { AggregateAnswer, Control } from "./protocol.ts";
import type { TextVector } from "./text.ts";

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
    const { groups, labels, points } = first;
    return { groups, labels, points, scanned };
  }
  return { ...joinAnswers(query, answers, control), scanned };
}

/** The same groups have other numbers in other answers. */
function joinAnswers(
  { groupBy, aggregates }: AggregateQuery,
  answers: readonly AggregateAnswer[],
  control: Control,
): Pick<Aggregated, "groups" | "labels" | "points"> {
  const groups = new GroupTable(groupBy.length, Math.min(resultBytesMax, control.memoryBytesMax));
  const table = new PointTable(aggregates);
  for (const answer of answers) {
    const numberOf = Uint32Array.from({ length: answer.groups }, (_, group) =>
      joinedGroup(groups, answer.labels, group * groupBy.length, groupBy.length),
    );
    const { points } = answer;
    for (let i = 0; i < points.groups.length; i++) {
      const point = table.place(numberOf[points.groups[i]!]!, points.buckets[i]!);
      for (const [aggregate, values] of points.values.entries()) table.join(point, aggregate, values[i]!);
    }
  }
  return { groups: groups.count, labels: groups.finish(), points: table.finish() };
}

function joinedGroup(
  groups: GroupTable,
  { offsets, bytes }: TextVector,
  from: number,
  fields: number,
): number {
  for (let label = from; label < from + fields; label++) {
    groups.stage(bytes, offsets[label]!, offsets[label + 1]!);
  }
  return groups.numberOfStaged();
}
