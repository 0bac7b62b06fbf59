import type { ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import type { AggregateQuery } from "../plan/aggregation.ts";
import type { DaysSum } from "../summary/days-sum.ts";
import type { TextVector } from "../vector/text.ts";
import type { StatesPart } from "./point-states.ts";
import type { SharedBuckets } from "./shared-buckets.ts";

/** Aggregates over the matching rows of some chunks. */
export interface AggregateTask extends SelectionTask, Pick<AggregateQuery, "groupBy" | "aggregates"> {
  kind: "aggregate";
  bucketNs: bigint | undefined;
  isRanked: boolean;
  shared: SharedBuckets;
  /** Whether the query thread may answer for whole days by a sum of theirs that it keeps: `daysSum` of its answer. */
  mayUseDaysSum: boolean;
}

/** Groups are numbered within this answer. */
export interface AggregateAnswer extends ScanAnswer {
  groups: number;
  /** Of group after group the text of each field. */
  labels: TextVector;
  /** Group and bucket of each point. */
  points: { groups: Uint32Array; buckets: Float64Array };
  states: StatesPart;
  /** The rows of whole days by template and level, which are not among the points. The query thread alone has one. */
  daysSum?: DaysSum | undefined;
}
