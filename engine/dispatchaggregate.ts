/** Aggregations over the scan threads: their parts become one answer. */
import type { Aggregated, AggregateQuery } from "./aggregation.ts";
import { checkCaps } from "./control.ts";
import { askShards, type Dispatch, scannedBy } from "./dispatch.ts";
import { Failure } from "./failure.ts";
import { GroupTable } from "./groups.ts";
import { resultBytesMax } from "./limits.ts";
import { PointTable } from "./points.ts";
import { PointStates } from "./pointstates.ts";
import type { AggregateAnswer, Control } from "./protocol.ts";
import { BucketGrid } from "./runs.ts";
import { sharedBuckets } from "./sharedbuckets.ts";
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
  for (const aggregate of aggregates) {
    if (aggregate.op !== "quantile" || (aggregate.q >= 0 && aggregate.q <= 1)) continue;
    throw new Failure("input", `q of a quantile must lie between 0 and 1, got ${aggregate.q}`);
  }
  const answers = await askShards<AggregateAnswer>(dispatch, query, control, (chunks) => {
    const shared = sharedBuckets(chunks, new BucketGrid(fromNs, bucketNs));
    return { kind: "aggregate", chunks, fromNs, toNs, steps, groupBy, bucketNs, aggregates, shared, control };
  });
  const scanned = scannedBy(answers);
  return { ...joinAnswers(query, answers, control), scanned };
}

/** The same groups have other numbers in other answers. */
function joinAnswers(
  { groupBy, aggregates }: AggregateQuery,
  answers: readonly AggregateAnswer[],
  control: Control,
): Pick<Aggregated, "groups" | "labels" | "points"> {
  const groups = new GroupTable(groupBy.length, Math.min(resultBytesMax, control.memoryBytesMax));
  const table = new PointTable();
  const states = new PointStates(aggregates);
  for (const answer of answers) {
    const numberOf = Uint32Array.from({ length: answer.groups }, (_, group) =>
      joinedGroup(groups, answer.labels, group * groupBy.length, groupBy.length),
    );
    const { points } = answer;
    const places = new Uint32Array(points.groups.length);
    for (let i = 0; i < places.length; i++) {
      places[i] = table.place(numberOf[points.groups[i]!]!, points.buckets[i]!);
    }
    states.join(answer.states, places, table.count);
    const memoryBytes = groups.byteLength + table.byteLength + states.byteLength;
    checkCaps(control, { memoryBytes, scannedRows: 0 });
  }
  const points = { ...table.finish(), values: states.values(table.count) };
  return { groups: groups.count, labels: groups.finish(), points };
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
