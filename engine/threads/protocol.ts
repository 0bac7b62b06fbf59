/** What passes between the store and its worker threads: plain data and shared memory. */

import type { StatesPart } from "../aggregate/point-states.ts";
import type { SharedBuckets } from "../aggregate/shared-buckets.ts";
import type { FailureKind } from "../failure.ts";
import type { CensusTables } from "../metrics/series-census.ts";
import type { DamageReport } from "../model/damage-report.ts";
import type { RowPosition } from "../model/row.ts";
import type { Signal } from "../model/signal.ts";
import type { PackedChunk } from "../partition/chunk-store.ts";
import type { ChunkEntry, Manifest } from "../partition/manifest.ts";
import type { Aggregation } from "../plan/aggregation.ts";
import type { Field, Step } from "../plan/filter.ts";
import type { SampleQuery, SeriesKinds } from "../plan/sample-query.ts";
import type { Scanned } from "../plan/scan-statistics.ts";
import type { OwnPointsPart } from "../series/own-points.ts";
import type { GatheredPoints } from "../series/series-points.ts";
import type { TextVector } from "../vector/text.ts";

/** A chunk that a scan reads: sealed, or an image in shared memory. */
export type ChunkRef = { signal: Signal; day: number } & (
  | { kind: "sealed"; dir: string; entry: ChunkEntry }
  | {
      kind: "image";
      id: number;
      rows: number;
      bytes: Uint8Array;
      timeNsMin: number;
      timeNsMax: number;
      arrivalBase: number;
      arrivalMin: number;
      arrivalMax: number;
    }
);

/** How a query ends early. */
export interface Control {
  /** Int32 in shared memory: not zero once the query is cancelled. */
  cancel: Int32Array;
  /** Milliseconds since the epoch. */
  deadlineAtMs: number;
  memoryBytesMax: number;
  scannedRowsMax: number;
}

export interface SearchTask {
  kind: "search";
  /** Newest first. */
  chunks: ChunkRef[];
  fromNs: bigint;
  toNs: bigint;
  after: RowPosition | undefined;
  steps: Step[];
  limit: number;
  control: Control;
}

/** Rows column by column, as they cross threads. */
export interface FoundRows {
  day: Float64Array;
  timeNs: Float64Array;
  arrival: Float64Array;
  /** For each row level, message, key, value, key, value … */
  texts: TextVector;
  /** First text of each row, and the number of texts. */
  firstText: Uint32Array;
}

export interface SearchAnswer {
  rows: FoundRows;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** Rows of one selection in the order of their arrival. */
export interface ArrivedSelection {
  steps: Step[];
  /** Nanoseconds since the epoch, inclusive: of the rows' own times. */
  fromNs: bigint;
  /** The first so many; 0 counts them. */
  rowsMax: number;
}

/** The rows of some chunks that arrived in a range, for several selections: each chunk is opened once for all of them. */
export interface ArrivedTask {
  kind: "arrived";
  /** In the order of the first arrival in them. */
  chunks: ChunkRef[];
  /** Arrival numbers, exclusive and inclusive. */
  after: number;
  through: number;
  selections: readonly ArrivedSelection[];
  control: Control;
}

export interface ArrivedRows {
  rows: FoundRows;
  /** Matching rows up to `through`: as many as there are in `rows`, unless these are only counted. */
  count: number;
  /** Every matching row that arrived up to here is in the answer. */
  through: number;
}

export interface ArrivedAnswer {
  /** Of each selection. */
  found: ArrivedRows[];
  scanned: Scanned;
  damaged: DamagedChunk[];
}

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
  control: Control;
}

/** Groups are numbered within this answer. */
export interface AggregateAnswer {
  groups: number;
  /** Of group after group the text of each field. */
  labels: TextVector;
  /** Group and bucket of each point. */
  points: { groups: Uint32Array; buckets: Float64Array };
  states: StatesPart;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** Which of the threads a task is for: it takes the series whose fingerprints fall to it, of all chunks. */
export interface Share {
  worker: number;
  workers: number;
}

/** Aggregates over the samples of some series. */
export interface SampleTask extends SampleQuery {
  kind: "samples";
  /** All that may hold samples of the range, or of the time before it in which counters are looked up. */
  chunks: ChunkRef[];
  share: Share;
  control: Control;
}

/** Groups, and texts that are counted, are numbered within this answer. */
export interface SampleAnswer {
  groups: number;
  labels: TextVector;
  /** Groups of different threads are different ones where points are of each series. */
  points: { kind: "gathered"; part: GatheredPoints } | { kind: "own"; part: OwnPointsPart };
  texts: TextVector;
  kinds: SeriesKinds;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** Counts series that have samples in a range. */
export interface SeriesTask {
  kind: "series";
  chunks: ChunkRef[];
  fromNs: bigint;
  toNs: bigint;
  /** Undefined: of every metric. */
  name: string | undefined;
  steps: Step[];
  /** Each metric (name, type, unit), each key of a label, or each text of one label. */
  by: "metric" | "key" | { label: string };
  share: Share;
  control: Control;
}

export interface SeriesAnswer {
  /** Each text once; of metrics the JSON of name, type and unit. */
  texts: TextVector;
  /** Series of each. */
  counts: Float64Array;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** How many of the matching rows of some chunks bear each field. */
export interface FieldsTask {
  kind: "fields";
  chunks: ChunkRef[];
  fromNs: bigint;
  toNs: bigint;
  steps: Step[];
  control: Control;
}

export interface FieldsAnswer {
  rows: number;
  /** Rows with a level that is not empty. */
  levels: number;
  /** Attribute keys, and of each the rows that have it. */
  keys: string[];
  counts: number[];
  /** False where there were more keys than are counted. */
  isWhole: boolean;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** Notes the series of a chunk of metrics as active. */
export interface CensusTask {
  kind: "census";
  chunk: ChunkRef;
  tables: CensusTables;
}

/** Lists the templates of sealed chunks. */
export interface TemplatesTask {
  kind: "templates";
  chunks: ChunkRef[];
  control: Control;
}

/** The templates of a chunk's messages. */
export interface ListedTemplates {
  dir: string;
  /** Tells it from others of the folder. */
  chunk: string;
  /** Of each template the text and, behind it, the classes of its slots. */
  keys: TextVector;
  /** Of each template its rows. */
  rows: Uint32Array;
  /** Of each group of variables the bits of its runs of letters, where it has them. */
  letters: (Uint8Array | undefined)[];
}

/** Tasks that each thread does for its chunks. */
export type SharedTask = SearchTask | AggregateTask | FieldsTask;

/** A sealed chunk that could not be read. */
export interface DamagedChunk extends DamageReport {
  signal: Signal;
  day: number;
  chunk: number;
}

/** The matching rows of one chunk, in order of time, for `scan`. */
export interface ReadTask {
  kind: "read";
  chunk: ChunkRef;
  fromNs: bigint;
  toNs: bigint;
  steps: Step[];
  control: Control;
}

/** Buffers in Arrow's layout. */
export interface ReadAnswer {
  rows: number;
  timeNs: BigInt64Array;
  level: TextVector;
  message: TextVector;
  /** Offsets (rows + 1) into the pairs of all rows. */
  pairOffsets: Int32Array;
  keys: TextVector;
  values: TextVector;
}

export interface ImageRef {
  bytes: Uint8Array;
  arrivalBase: number;
}

/** Joins images of one day to a larger one. */
export interface JoinTask {
  kind: "join";
  signal: Signal;
  images: ImageRef[];
}

/** Makes chunks of images of one day. */
export interface PackTask {
  kind: "pack";
  signal: Signal;
  images: ImageRef[];
}

/** Writes chunks to a partition. */
export interface SealTask {
  kind: "seal";
  dir: string;
  day: number;
  chunks: PackedChunk[];
  /** Every row of the day up to this arrival number is in the chunks or in the partition already. */
  arrivalSealed: number;
}

/** Writes some chunks of a partition anew as fewer, larger ones. The old values stay until they are swept. */
export interface MergeTask {
  kind: "merge";
  signal: Signal;
  dir: string;
  day: number;
  chunks: ChunkEntry[];
}

export interface MergeAnswer {
  manifest: Manifest;
  /** Chunks that the new ones stand for. */
  merged: number[];
  damaged: DamagedChunk[];
}

/** Removes chunks from the manifest, then their values. */
export interface SweepTask {
  kind: "sweep";
  dir: string;
  day: number;
  chunks: number[];
}

/** Checks a partition at start and mends what can be mended; or mends it because other work found it damaged. */
export interface InspectTask {
  kind: "inspect" | "mend";
  dir: string;
  day: number;
}

/** Removes a partition's folder. */
interface DropTask {
  kind: "drop";
  dir: string;
}

/** Lets go of a partition whose folder is about to be removed. */
interface ForgetTask {
  kind: "forget";
  dir: string;
}

/** The frames of a chunk's values, for a backup. */
export interface LiftChunkTask {
  kind: "lift-chunk";
  dir: string;
  entry: ChunkEntry;
}

/** So many bytes from the beginning of an open file, for a backup; of a segment of the journal its whole records. */
export interface LiftFileTask {
  kind: "lift-file" | "lift-records";
  fd: number;
  bytes: number;
}

type LiftTask = LiftChunkTask | LiftFileTask;
type KeeperTask = JoinTask | PackTask | SealTask | MergeTask | SweepTask | InspectTask | DropTask;
export type ScanTask =
  | SharedTask
  | ArrivedTask
  | ReadTask
  | SampleTask
  | SeriesTask
  | CensusTask
  | TemplatesTask;
export type WorkerTask = ScanTask | ForgetTask | KeeperTask | LiftTask;

export interface InspectAnswer {
  manifest: Manifest;
  damage: DamageReport[];
}

/** Errors cross threads as data: structured clone would drop their kind. */
export type WorkerAnswer<T> =
  | { ok: true; value: T }
  | { ok: false; kind: FailureKind | "bug"; message: string };
