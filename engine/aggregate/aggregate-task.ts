import type { ChunkRef, DamagedChunk } from "../chunk/chunk-ref.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { Field, Step } from "../plan/filter.ts";
import type { QueryControl } from "../plan/query-control.ts";
import type { ScanStatistics } from "../plan/scan-statistics.ts";
import type { TextVector } from "../vector/text.ts";
import type { StatesPart } from "./point-states.ts";
import type { SharedBuckets } from "./shared-buckets.ts";

/** Aggregates over the matching rows of some chunks. */
export interface AggregateTask {
  kind: "aggregate";
  chunks: ChunkRef[];
  fromNs: bigint;
  toNs: bigint;
  steps: Step[];
  groupBy: Field[];
  bucketNs: bigint | undefined;
  aggregates: Aggregation[];
  isRanked: boolean;
  shared: SharedBuckets;
  control: QueryControl;
}

/** Groups are numbered within this answer. */
export interface AggregateAnswer {
  groups: number;
  /** Of group after group the text of each field. */
  labels: TextVector;
  /** Group and bucket of each point. */
  points: { groups: Uint32Array; buckets: Float64Array };
  states: StatesPart;
  scanned: ScanStatistics;
  damaged: DamagedChunk[];
}
