/**
 * Queries samples over all scan threads. Each thread takes a share of the series, so that it sees their samples whole
 * and in order of time.
 */

import { checkGroups, type GroupCaps, GroupTable, groupCapsOf } from "../aggregate/group-table.ts";
import { checkPoints } from "../aggregate/point-table.ts";
import type { ChunkRef } from "../chunk/chunk-ref.ts";
import { Failure } from "../failure.ts";
import { increaseAgeNsMax, pointsMax } from "../limits.ts";
import type { ActiveSeriesTables } from "../metrics/active-series.ts";
import { dayStartNs } from "../model/day.ts";
import type { MetricType } from "../model/sample.ts";
import type { AggregatedPoints, Points } from "../plan/aggregation.ts";
import type { RangeSelection } from "../plan/filter.ts";
import type { QueryControl } from "../plan/query-control.ts";
import type {
  MetricName,
  SampleAggregate,
  SampleAggregateResult,
  SampleQuery,
  SeriesCount,
  SeriesLabelsQuery,
} from "../plan/sample-query.ts";
import type { SampleAnswer, SampleTask } from "../series/sample-task.ts";
import type { SeriesCountAnswer, SeriesCountTask } from "../series/series-labels.ts";
import { computePointValues, SeriesPoints, type SeriesPointsPart } from "../series/series-points.ts";
import type { SeriesShare } from "../series/series-selection.ts";
import { checkLabel, toLabelFilter } from "../series/series-selection.ts";
import type { SingleSeriesPart } from "../series/single-series-points.ts";
import type { TextVector } from "../vector/text.ts";
import { TextBuilder, textAt, textCount } from "../vector/text.ts";
import { checkBucketWidth, findGroup } from "./aggregate-query.ts";
import {
  isSmall,
  type QueryContext,
  retryWithoutDamaged,
  runTasks,
  type ScatterContext,
  sumScanStatistics,
} from "./scatter-gather.ts";
import { letOthersRun, mergedATurn } from "./turn-taking.ts";

/** Throws Failure "input". */
export async function querySamples(
  context: QueryContext,
  query: SampleQuery,
): Promise<SampleAggregateResult> {
  checkQuery(query);
  const { control } = context;
  const { fromNs, toNs, groupBy, aggregate } = query;
  const range = { fromNs: fromNs - BigInt(increaseAgeNsMax), toNs };
  const answers = await askEachShare<SampleAnswer>(context, range, (chunks, share) => {
    return { ...query, kind: "samples", chunks, share, control };
  });
  const kinds = {
    gauge: answers.some(({ kinds }) => kinds.gauge),
    counter: answers.some(({ kinds }) => kinds.counter),
  };
  const caps = groupCapsOf(control);
  const own = answers.flatMap(({ points, ...rest }) =>
    points.kind === "own" ? [{ ...rest, part: points.part }] : [],
  );
  const answered =
    own.length > 0
      ? await concatSingleSeries(own, caps, control)
      : await mergeSeriesPoints({ groupBy, aggregate }, answers, control);
  return { ...answered, kinds, scanned: sumScanStatistics(answers) };
}

/** Concatenates answers in which each series is a group of its own, and so of one thread alone. */
async function concatSingleSeries(
  answers: readonly (Pick<SampleAnswer, "groups" | "labels"> & { part: SingleSeriesPart })[],
  caps: GroupCaps,
  control: QueryControl,
): Promise<AggregatedPoints> {
  const labels = new TextBuilder();
  const count = answers.reduce((sum, { part }) => sum + part.groups.length, 0);
  checkPoints(count);
  const groups = new Uint32Array(count);
  const buckets = new Float64Array(count);
  const width = answers[0]!.part.values.length;
  const values = Array.from({ length: width }, () => new Float64Array(count));
  let at = 0;
  for (const { labels: own, part } of answers) {
    await letOthersRun(control);
    const first = labels.rows;
    labels.append(own);
    for (let i = 0; i < part.groups.length; i++) groups[at + i] = part.groups[i]! + first;
    buckets.set(part.buckets, at);
    for (const [i, column] of values.entries()) column.set(part.values[i]!, at);
    at += part.groups.length;
  }
  checkGroups(labels.rows, labels.byteLength, caps);
  return { groups: labels.rows, labels: labels.finish(), points: { groups, buckets, values } };
}

async function mergeSeriesPoints(
  { groupBy, aggregate }: Pick<SampleQuery, "groupBy" | "aggregate">,
  answers: readonly SampleAnswer[],
  control: QueryControl,
): Promise<AggregatedPoints> {
  const caps = groupCapsOf(control);
  const fields = Array.isArray(groupBy) ? groupBy.length : 1;
  const groups = new GroupTable(fields, caps);
  let groupsOfAnswers = 0;
  const parts: PointsPart[] = [];
  for (const { labels, points, groups: count, texts } of answers) {
    if (points.kind !== "gathered") continue;
    const isWanted = groupsWithPoints(points.part.groups, count);
    groupsOfAnswers += isWanted.reduce((sum, wanted) => sum + wanted, 0);
    const groupOf = await numberLists(groups, labels, fields, isWanted, control);
    parts.push({ points: points.part, groupOf, texts });
  }
  const count = parts.reduce((sum, { points }) => sum + points.groups.length, 0);
  const isApart = groups.count === groupsOfAnswers && count <= pointsMax;
  return {
    groups: groups.count,
    labels: groups.finish(),
    points: await (isApart ? concatPoints : mergePoints)(aggregate, parts, control),
  };
}

/** The points of one thread. `groupOf` maps its group numbers to those of the answer. */
interface PointsPart {
  points: SeriesPointsPart;
  groupOf: Uint32Array;
  texts: TextVector;
}

/** Concatenates points where no group has points of two threads. */
async function concatPoints(
  aggregate: SampleAggregate,
  parts: readonly PointsPart[],
  control: QueryControl,
): Promise<Points> {
  const count = parts.reduce((sum, { points }) => sum + points.groups.length, 0);
  const groups = new Uint32Array(count);
  const buckets = new Float64Array(count);
  const values = new Float64Array(count);
  let at = 0;
  for (const { points, groupOf } of parts) {
    for (let i = 0; i < points.groups.length; i++) groups[at + i] = groupOf[points.groups[i]!]!;
    buckets.set(points.buckets, at);
    values.set(computePointValues(aggregate, points), at);
    at += points.groups.length;
    await letOthersRun(control);
  }
  return { groups, buckets, values: [values] };
}

async function mergePoints(
  aggregate: SampleAggregate,
  parts: readonly PointsPart[],
  control: QueryControl,
): Promise<Points> {
  const texts = new GroupTable(1, groupCapsOf(control));
  const table = new SeriesPoints(aggregate);
  for (const { points, groupOf, texts: own } of parts) {
    const isWanted = new Uint8Array(textCount(own)).fill(1);
    table.merge(points, groupOf, await numberLists(texts, own, 1, isWanted, control));
    await letOthersRun(control);
  }
  const gathered = table.finish();
  await letOthersRun(control);
  const { groups, buckets } = gathered;
  return { groups, buckets, values: [computePointValues(aggregate, gathered)] };
}

export async function queryMetricNames(
  context: QueryContext,
  range: { fromNs: bigint; toNs: bigint },
): Promise<MetricName[]> {
  const counts = await countBy(context, { ...range, name: undefined, steps: [], by: "metric" });
  return counts
    .map(({ text, series }) => {
      const [name, type, unit] = JSON.parse(text) as [string, MetricType, string];
      return { name, type, unit, series };
    })
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : b.series - a.series));
}

/** Throws Failure "input". */
export async function querySeriesLabels(
  context: QueryContext,
  query: SeriesLabelsQuery,
): Promise<SeriesCount[]> {
  const { name, fromNs, toNs, steps, key, limit } = query;
  toLabelFilter(steps);
  const by = key === undefined ? "key" : { label: key };
  const counts = await countBy(context, { name, fromNs, toNs, steps, by });
  return counts.slice(0, limit);
}

/** Counts series over all threads, sorted by the number of series, greatest first. */
async function countBy(
  context: QueryContext,
  query: RangeSelection & Pick<SeriesCountTask, "name" | "by">,
): Promise<SeriesCount[]> {
  const { control } = context;
  const answers = await askEachShare<SeriesCountAnswer>(context, query, (chunks, share) => {
    return { ...query, kind: "series", chunks, share, control };
  });
  const counts = new Map<string, number>();
  for (const { texts, counts: own } of answers) {
    for (let i = 0; i < own.length; i++) {
      if (i % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      const text = textAt(texts, i);
      counts.set(text, (counts.get(text) ?? 0) + own[i]!);
    }
  }
  return [...counts]
    .map(([text, series]) => ({ text, series }))
    .sort((a, b) => b.series - a.series || (a.text < b.text ? -1 : 1));
}

function checkQuery({ bucketNs, groupBy, steps, aggregate }: SampleQuery): void {
  checkBucketWidth(bucketNs);
  if (Array.isArray(groupBy)) groupBy.forEach(checkLabel);
  if (aggregate.op === "quantile" && !(aggregate.q >= 0 && aggregate.q <= 1)) {
    throw new Failure("input", `a quantile lies between 0 and 1, got ${aggregate.q}`);
  }
  if (aggregate.op === "statistics" && (Array.isArray(groupBy) || groupBy.without.length > 0)) {
    throw new Failure("input", "statistics are of single series, grouped by all of their labels");
  }
  toLabelFilter(steps);
}

/** Asks every thread for its share of the series, each over all chunks of the range. */
function askEachShare<Answer extends SampleAnswer | SeriesCountAnswer>(
  context: ScatterContext,
  range: { fromNs: bigint; toNs: bigint },
  taskOf: (chunks: ChunkRef[], share: SeriesShare) => SampleTask | SeriesCountTask,
): Promise<Answer[]> {
  const { threads, queryThread } = context;
  return retryWithoutDamaged<Answer>(context, { signal: "metrics", ...range }, async (chunks) => {
    if (isSmall(chunks))
      return [(await queryThread.run(taskOf(chunks, { worker: 0, workers: 1 }))) as Answer];
    const workers = threads.length;
    const tasks = threads.map((thread, worker) => ({ thread, task: taskOf(chunks, { worker, workers }) }));
    return runTasks<Answer>(tasks);
  });
}

/** 1 for each group that has points: a series may have samples, but none in the range. */
function groupsWithPoints(groups: Uint32Array, count: number): Uint8Array {
  const has = new Uint8Array(count);
  for (const group of groups) has[group] = 1;
  return has;
}

/**
 * Numbers one thread's label lists in the table of the answer, by their texts. Lists with `isWanted` 0 are not added.
 */
async function numberLists(
  table: GroupTable,
  lists: TextVector,
  fields: number,
  isWanted: Uint8Array,
  control: QueryControl,
): Promise<Uint32Array> {
  const numbers = new Uint32Array(isWanted.length);
  for (let list = 0; list < numbers.length; list++) {
    if (list % mergedATurn === mergedATurn - 1) await letOthersRun(control);
    if (isWanted[list] !== 0) numbers[list] = findGroup(table, lists, list * fields, fields);
  }
  return numbers;
}

/** Marks the stored series that have samples of today or yesterday as active. */
export async function countStoredSeries(context: ScatterContext, tables: ActiveSeriesTables): Promise<void> {
  const { catalog, threads } = context;
  const [fromNs, toNs] = [dayStartNs(tables.yesterday.day), dayStartNs(tables.today.day + 1)];
  for (const chunk of await catalog.findChunks("metrics", fromNs, toNs)) {
    await threads[0]!.run<void>({ kind: "census", chunk, tables });
  }
}
