import type { ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import type { SampleQuery, SeriesKinds } from "../plan/sample-query.ts";
import type { TextVector } from "../vector/text.ts";
import type { SeriesPointsPart } from "./series-points.ts";
import type { SeriesShare } from "./series-selection.ts";
import type { SingleSeriesPart } from "./single-series-points.ts";

/** The task of aggregating samples on one scan thread, and its answer. */

/**
 * Asks a thread to aggregate the samples of its share of the series. `chunks` are all that may have samples in the range,
 * or before it within `increaseAgeNsMax`, which counters need.
 */
export interface SampleTask extends SampleQuery, SelectionTask {
  kind: "samples";
  share: SeriesShare;
}

/** The numbers of groups and of counted texts hold within this answer only. */
export interface SampleAnswer extends ScanAnswer {
  groups: number;
  labels: TextVector;
  /**
   * "own": every series is a group, so no group is in the answers of two threads. "gathered": points must be merged.
   */
  points: { kind: "gathered"; part: SeriesPointsPart } | { kind: "own"; part: SingleSeriesPart };
  /** Texts of the label that `distinct` counts. */
  texts: TextVector;
  kinds: SeriesKinds;
}
