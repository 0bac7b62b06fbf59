import type { ChunkRef, DamagedChunk } from "../chunk/chunk-ref.ts";
import type { QueryControl } from "../plan/query-control.ts";
import type { SampleQuery, SeriesKinds } from "../plan/sample-query.ts";
import type { Scanned } from "../plan/scan-statistics.ts";
import type { TextVector } from "../vector/text.ts";
import type { SingleSeriesPart } from "./own-points.ts";
import type { SeriesPointsPart } from "./series-points.ts";
import type { SeriesShare } from "./series-selection.ts";

/** Aggregates over the samples of some series. */
export interface SampleTask extends SampleQuery {
  kind: "samples";
  /** All that may hold samples of the range, or of the time before it in which counters are looked up. */
  chunks: ChunkRef[];
  share: SeriesShare;
  control: QueryControl;
}

/** Groups, and texts that are counted, are numbered within this answer. */
export interface SampleAnswer {
  groups: number;
  labels: TextVector;
  /** Groups of different threads are different ones where points are of each series. */
  points: { kind: "gathered"; part: SeriesPointsPart } | { kind: "own"; part: SingleSeriesPart };
  texts: TextVector;
  kinds: SeriesKinds;
  scanned: Scanned;
  damaged: DamagedChunk[];
}
