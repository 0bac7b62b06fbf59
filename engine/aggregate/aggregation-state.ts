import type { ChunkAccess } from "../chunk/chunk-task.ts";
import { beginStatistics } from "../filter/condition-counter.ts";
import { compileRowSteps, type RowSteps, splitSteps } from "../filter/row-steps.ts";
import type { Filter } from "../plan/filter.ts";
import type { ChunkScan } from "../summary/answer-source.ts";
import type { DaysSum } from "../summary/days-sum.ts";
import type { AggregateAnswer, AggregateTask } from "./aggregate-task.ts";
import { BucketGrid, findBucketSpan } from "./bucket-runs.ts";
import { LabelGroups } from "./group-numbers.ts";
import { GroupTable, groupCapsOf } from "./group-table.ts";
import { PointStates } from "./point-states.ts";
import { PointTable } from "./point-table.ts";

export interface AggregationState extends ChunkScan {
  task: AggregateTask;
  grid: BucketGrid;
  /** Steps from the first extraction on, if there is one. */
  extraction: RowSteps | undefined;
  groups: GroupTable;
  labelGroups: LabelGroups;
  points: PointTable;
  states: PointStates;
  /** The rows of whole days that are not among the points; see `AggregateAnswer`. */
  daysSum: DaysSum | undefined;
}

export function createAggregationState(task: AggregateTask, access: ChunkAccess): AggregationState {
  const { filters, rest } = splitSteps(task.steps);
  const filter: Filter = { kind: "and", of: filters };
  const grid = new BucketGrid(task.fromNs, task.bucketNs);
  return {
    ...access,
    task,
    grid,
    filter,
    extraction: rest.length === 0 ? undefined : compileRowSteps(rest),
    groups: new GroupTable(task.groupBy.length, groupCapsOf(task.control, task.isRanked)),
    labelGroups: new LabelGroups(),
    points: new PointTable({ span: findBucketSpan(task.chunks, grid, task.toNs) }),
    states: new PointStates(task.aggregates),
    daysSum: undefined,
    ...beginStatistics(filter, task),
    damaged: [],
  };
}

export function finishAggregation(state: AggregationState): AggregateAnswer {
  const { groups, points, states, daysSum, scanned, damaged } = state;
  return {
    groups: groups.count,
    labels: groups.finish(),
    points: points.finish(),
    states: states.finish(points.count),
    daysSum,
    scanned,
    damaged,
  };
}
