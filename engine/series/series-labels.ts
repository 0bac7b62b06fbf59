/** Which series there are: metrics, keys of labels and their texts, counted over the series that fall to one thread. */

import { GroupTable, groupCaps } from "../aggregate/group-table.ts";
import type { ChunkRef, DamagedChunk, OpenChunkView } from "../chunk/chunk-ref.ts";
import { toDamagedChunk } from "../chunk/chunk-ref.ts";
import { columnBytes, hasValue } from "../column/column.ts";
import { Failure } from "../failure.ts";
import { type CensusTables, SeriesCensus } from "../metrics/series-census.ts";
import { SeriesView } from "../metrics/series-view.ts";
import { rangeInDay } from "../model/day-range.ts";
import type { Filter, Step } from "../plan/filter.ts";
import type { QueryControl, YieldThread } from "../plan/query-control.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { countSkippedChunk, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import type { TextVector } from "../vector/text.ts";
import { FingerprintTable } from "./fingerprint-table.ts";
import { sliceByTime } from "./overlap.ts";
import { eachSeries, labelFilter, maySelect, type SeriesShare } from "./series-selection.ts";

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
  share: SeriesShare;
  control: QueryControl;
}

export interface SeriesAnswer {
  /** Each text once; of metrics the JSON of name, type and unit. */
  texts: TextVector;
  /** Series of each. */
  counts: Float64Array;
  scanned: Scanned;
  damaged: DamagedChunk[];
}

/** Notes the series of a chunk of metrics as active. */
export interface CensusTask {
  kind: "census";
  chunk: ChunkRef;
  tables: CensusTables;
}

interface Counting {
  task: SeriesTask;
  filter: Filter;
  seen: FingerprintTable;
  texts: GroupTable;
  counts: number[];
  scanned: Scanned;
}

export async function countSeries(
  task: SeriesTask,
  open: OpenChunkView,
  pause: YieldThread,
): Promise<SeriesAnswer> {
  const { control } = task;
  const counting: Counting = {
    task,
    filter: labelFilter(task.steps),
    seen: new FingerprintTable(),
    texts: new GroupTable(1, groupCaps(control)),
    counts: [],
    scanned: nothingScanned(),
  };
  const damaged: DamagedChunk[] = [];
  for (const ref of task.chunks) {
    await pause();
    checkControl(control);
    try {
      countChunk(counting, ref, open);
    } catch (error) {
      damaged.push(toDamagedChunk(ref, error));
    }
  }
  const { texts, counts, scanned } = counting;
  return { texts: texts.finish(), counts: Float64Array.from(counts), scanned, damaged };
}

/** Chunks come newest first: what a series declares last is what it is counted under. */
function countChunk(counting: Counting, ref: ChunkRef, open: OpenChunkView): void {
  const { task, filter, seen, scanned, texts } = counting;
  const view = open(ref);
  try {
    if (!maySelect(view, task.name, filter)) {
      countSkippedChunk(scanned, view.header);
      return;
    }
    const chunk = new SeriesView(view);
    const range = rangeInDay(task.fromNs, task.toNs, ref.day);
    const isWhole = view.header.timeNsMin >= range.from && view.header.timeNsMax < range.to;
    const textsOf = textStager(counting, chunk);
    const { name, share, control } = task;
    eachSeries(chunk, { name, filter, share, control }, (place) => {
      if (!isWhole && !hasSamples(chunk, place, range)) return;
      const known = seen.count;
      const number = seen.numberOf(chunk.fingerprints[place * 2]!, chunk.fingerprints[place * 2 + 1]!);
      if (number === known) textsOf(place);
    });
    scanned.chunks++;
    scanned.rows += chunk.series;
    scanned.bytes += view.readBytes;
    const memoryBytes = view.decodedBytes + seen.byteLength + texts.byteLength;
    checkCaps(control, { memoryBytes, scannedRows: scanned.rows });
  } finally {
    view.close();
  }
}

function hasSamples(chunk: SeriesView, place: number, range: { from: number; to: number }): boolean {
  const times = chunk.timesOf(place);
  const { from, to } = sliceByTime(times, times, range);
  return from < to;
}

/** Counts a series under each of its texts. */
function textStager({ task, texts, counts }: Counting, chunk: SeriesView): (place: number) => void {
  const { view } = chunk;
  const countStaged = () => {
    const number = texts.numberOfStaged();
    counts[number] = (counts[number] ?? 0) + 1;
  };
  if (task.by === "metric") {
    return (place) => {
      texts.stageText(JSON.stringify([chunk.name(place), chunk.type(place), chunk.unit(place)]));
      countStaged();
    };
  }
  if (task.by === "key") {
    const keysOf = keyReader(chunk);
    return (place) => {
      for (const key of keysOf(place)) {
        texts.stageText(key);
        countStaged();
      }
    };
  }
  const column = view.column({ kind: "attribute", key: task.by.label });
  return (place) => {
    if (!hasValue(column, place)) return;
    const bytes = columnBytes(column, place);
    texts.stage(bytes, 0, bytes.byteLength);
    countStaged();
  };
}

/** The keys of a series' labels. */
function keyReader(chunk: SeriesView): (place: number) => string[] {
  const { view } = chunk;
  if (view.overflow.kind !== "absent") return (place) => chunk.labels(place).map(([key]) => key);
  const columns = view.header.columns.flatMap(({ role, key }) =>
    role === "attribute" ? [{ key, column: view.column({ kind: "attribute", key }) }] : [],
  );
  return (place) => columns.flatMap(({ key, column }) => (hasValue(column, place) ? [key] : []));
}

/** Notes the series of a chunk as active; a chunk that cannot be read is left to the queries. */
export function countActiveSeries({ chunk, tables }: CensusTask, open: OpenChunkView): void {
  const census = new SeriesCensus(tables);
  try {
    const view = open(chunk);
    try {
      const { fingerprints, series } = new SeriesView(view);
      for (let i = 0; i < series; i++) census.admit(fingerprints[i * 2 + 1]!, fingerprints[i * 2]!);
    } finally {
      view.close();
    }
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "damage") throw error;
  }
}
