/** Aggregates rows over all scan threads and merges their partial states. */
import type { AggregateAnswer, AggregateTask } from "../aggregate/aggregate-task.ts";
import { BucketGrid } from "../aggregate/bucket-runs.ts";
import { GroupTable, groupCapsOf } from "../aggregate/group-table.ts";
import { PointStates } from "../aggregate/point-states.ts";
import { type BucketSpan, PointTable } from "../aggregate/point-table.ts";
import { findSharedBuckets } from "../aggregate/shared-buckets.ts";
import type { ChunkRef } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import type { AggregatedPoints, AggregateQuery, AggregateResult, Aggregation } from "../plan/aggregation.ts";
import type { QueryControl } from "../plan/query-control.ts";
import { checkCaps } from "../plan/query-control.ts";
import { keptCountsMax, keptLabelBytesMax, type UncountedDay } from "../summary/day-summaries.ts";
import type { DaysSum } from "../summary/days-sum.ts";
import { type TextVector, textAt } from "../vector/text.ts";
import type { RowTask } from "../worker/scan-executor.ts";
import {
  divideTask,
  type QueryContext,
  runTasks,
  scatterGather,
  sumScanStatistics,
} from "./scatter-gather.ts";
import { letOthersRun, mergedATurn } from "./turn-taking.ts";

/** Width of the narrowest bucket. */
const bucketNsMin = 1_000_000n;

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryAggregate(context: QueryContext, query: AggregateQuery): Promise<AggregateResult> {
  const answers = await askForGroups(context, query, { mayUseDaysSum: false });
  const scanned = sumScanStatistics(answers);
  return { ...(await mergeAnswers(query, answers, context.control)), scanned };
}

/**
 * Aggregates by template and level. `daysSum` has the rows of whole days whose sum the query thread keeps; they are not among
 * the points. Throws as `queryAggregate`.
 */
export async function aggregateBesideDaysSum(
  context: QueryContext,
  query: AggregateQuery,
): Promise<{ found: AggregateResult; daysSum: DaysSum | undefined }> {
  const answers = await askForGroups(context, query, { mayUseDaysSum: true });
  const scanned = sumScanStatistics(answers);
  const merged = await mergeAnswers(query, answers, context.control);
  return {
    found: { ...merged, scanned },
    daysSum: answers.find(({ daysSum }) => daysSum)?.daysSum,
  };
}

async function askForGroups(
  context: QueryContext,
  query: AggregateQuery,
  { mayUseDaysSum }: Pick<AggregateTask, "mayUseDaysSum">,
): Promise<AggregateAnswer[]> {
  const { control } = context;
  const { fromNs, toNs, steps, groupBy, bucketNs, aggregates, isRanked = false, isExplained = false } = query;
  checkBucketWidth(bucketNs);
  for (const aggregate of aggregates) {
    if (aggregate.op !== "quantile" || (aggregate.q >= 0 && aggregate.q <= 1)) continue;
    throw new Failure("input", `q of a quantile must lie between 0 and 1, got ${aggregate.q}`);
  }
  const taskOf = (chunks: ChunkRef[]): AggregateTask => {
    const shared = findSharedBuckets(chunks, new BucketGrid(fromNs, bucketNs));
    const asked = { fromNs, toNs, steps, groupBy, bucketNs, aggregates, isRanked, isExplained };
    return { kind: "aggregate", chunks, ...asked, shared, mayUseDaysSum, control };
  };
  return scatterGather<AggregateAnswer>(context, query, taskOf, (residual, metadata) =>
    askAndKeepCounts(context, residual, metadata?.uncounted ?? []),
  );
}

/**
 * Asks the scan threads about the residual chunks, separately for each uncounted day, and has the query thread keep the counts
 * of these days. Where there are such days, the query counts all rows by one attribute, and all rows of a day lie in one
 * bucket.
 */
async function askAndKeepCounts(
  { threads, queryThread, control }: QueryContext,
  residual: RowTask,
  uncounted: readonly UncountedDay[],
): Promise<AggregateAnswer[]> {
  const ofDays = new Set<ChunkRef>(uncounted.flatMap(({ refs }) => refs));
  const others = residual.chunks.filter((ref) => !ofDays.has(ref));
  const days = uncounted.map(({ refs }) => divideTask(threads, { ...residual, chunks: [...refs] }));
  const tasks = [...days.flat(), ...divideTask(threads, { ...residual, chunks: others })];
  const answers = await runTasks<AggregateAnswer>(tasks);
  let first = 0;
  for (const [i, { length }] of days.entries()) {
    const ofDay = answers.slice(first, first + length);
    first += length;
    if (ofDay.some(({ damaged }) => damaged.length > 0)) continue;
    const isTooLarge = ofDay.some(
      ({ groups, labels }) => groups > keptCountsMax || labels.bytes.byteLength > keptLabelBytesMax,
    );
    queryThread.keepCounts(uncounted[i]!, isTooLarge ? "too many" : addCounts(ofDay));
    await letOthersRun(control);
  }
  return answers;
}

/** The rows of each label in some answers that have one group field. */
function addCounts(answers: readonly AggregateAnswer[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { labels, points, states } of answers) {
    for (const [point, group] of points.groups.entries()) {
      const label = textAt(labels, group);
      sums.set(label, (sums.get(label) ?? 0) + states.rowCounts.counts[point]!);
    }
  }
  return sums;
}

/** Throws Failure "input" for buckets that are too narrow. */
export function checkBucketWidth(bucketNs: bigint | undefined): void {
  if (bucketNs === undefined || bucketNs >= bucketNsMin) return;
  throw new Failure("input", `bucketNs must be at least ${bucketNsMin}, got ${bucketNs}`);
}

/** Merges the threads' answers. Each thread numbers the groups by itself, so groups are found again by their labels. */
async function mergeAnswers(
  { groupBy, aggregates, isRanked }: AggregateQuery,
  answers: readonly AggregateAnswer[],
  control: QueryControl,
): Promise<AggregatedPoints> {
  const filled = answers.filter(({ points }) => points.groups.length > 0);
  if (filled.length === 1) return toPoints(filled[0]!, aggregates, control);
  const groups = new GroupTable(groupBy.length, groupCapsOf(control, isRanked));
  // Each thread has read chunks of its own, so most of its points are in no other answer.
  const expected = answers.reduce((sum, { points }) => sum + points.groups.length, 0);
  const table = new PointTable({ expected, span: spanOf(answers) });
  const states = new PointStates(aggregates);
  for (const answer of answers) {
    const numberOf = new Uint32Array(answer.groups);
    for (let group = 0; group < numberOf.length; group++) {
      if (group % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      numberOf[group] = findGroup(groups, answer.labels, group * groupBy.length, groupBy.length);
    }
    const { points } = answer;
    const places = new Uint32Array(points.groups.length);
    for (let i = 0; i < places.length; i++) {
      if (i % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      places[i] = table.findOrAdd(numberOf[points.groups[i]!]!, points.buckets[i]!);
    }
    await letOthersRun(control);
    states.merge(answer.states, places, table.count);
    await letOthersRun(control);
    const stateBytes = groups.byteLength + table.byteLength + states.byteLength;
    checkCaps(control, { columnBytes: 0, stateBytes, scannedRows: 0 });
  }
  const values = states.values(table.count);
  await letOthersRun(control);
  const points = { ...table.finish(), values };
  return { groups: groups.count, labels: groups.finish(), points };
}

/** The points of an answer that there is no other to merge with. */
async function toPoints(
  { groups, labels, points, states }: AggregateAnswer,
  aggregates: readonly Aggregation[],
  control: QueryControl,
): Promise<AggregatedPoints> {
  const places = new Uint32Array(points.groups.length);
  for (let i = 0; i < places.length; i++) places[i] = i;
  const own = new PointStates(aggregates);
  own.merge(states, places, places.length);
  await letOthersRun(control);
  const values = own.values(places.length);
  await letOthersRun(control);
  return { groups, labels, points: { ...points, values } };
}

/** The buckets of all points. */
function spanOf(answers: readonly AggregateAnswer[]): BucketSpan {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { points } of answers) {
    for (const bucket of points.buckets) {
      if (bucket < first) first = bucket;
      if (bucket > last) last = bucket;
    }
  }
  return first <= last ? { first, count: last - first + 1 } : { first: 0, count: 0 };
}

export function findGroup(groups: GroupTable, texts: TextVector, from: number, fields: number): number {
  const { offsets, bytes } = texts;
  for (let label = from; label < from + fields; label++) {
    groups.stage(bytes, offsets[label]!, offsets[label + 1]!);
  }
  return groups.findOrAddStaged();
}
