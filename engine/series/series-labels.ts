/** Counts series by metric, label key or label value, over one thread's share of the series. */

import { GroupTable, groupCapsOf } from "../aggregate/group-table.ts";
import {
  type ChunkRef,
  chunkSize,
  type DamagedChunk,
  type OpenChunkView,
  toDamagedChunk,
} from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ScanAnswer } from "../chunk/chunk-task.ts";
import { columnBytes, hasValue } from "../column/column.ts";
import { isDamage } from "../failure.ts";
import { ActiveSeries, type ActiveSeriesTables } from "../metrics/active-series.ts";
import { SeriesView } from "../metrics/series-view.ts";
import { clampToDay } from "../model/day-range.ts";
import type { Filter } from "../plan/filter.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { countSkippedChunk, emptyScanStatistics, type ScanStatistics } from "../plan/scan-statistics.ts";
import type { TextVector } from "../vector/text.ts";
import { FingerprintTable } from "./fingerprint-table.ts";
import { sliceByTime } from "./overlap.ts";
import { mayHaveSeries, type SeriesTask, toLabelFilter, visitSeries } from "./series-selection.ts";

/** Asks a thread to count the series of its share that have samples in a range. */
export interface SeriesCountTask extends SeriesTask {
  kind: "series";
  /** What to count by: metric (name, type, unit), label key, or the values of one label. */
  by: "metric" | "key" | { label: string };
}

/** The answer to a `SeriesCountTask`. */
export interface SeriesCountAnswer extends ScanAnswer {
  /** The different keys or values; of metrics the JSON list of name, type and unit. */
  texts: TextVector;
  /** Number of series of each. */
  counts: Float64Array;
}

/** Asks a thread to add the series of a chunk to the census of active series. */
export interface CountActiveSeriesTask {
  kind: "census";
  chunk: ChunkRef;
  tables: ActiveSeriesTables;
}

/** The state of one task. */
interface SeriesCounting {
  task: SeriesCountTask;
  filter: Filter;
  seen: FingerprintTable;
  texts: GroupTable;
  counts: number[];
  scanned: ScanStatistics;
}

/**
 * Runs one task. Throws Failure "limit", "deadline" or "cancelled", and "input" for steps that are not label filters.
 */
export async function countSeries(task: SeriesCountTask, access: ChunkAccess): Promise<SeriesCountAnswer> {
  const { open, useColumns, yieldThread } = access;
  const { control } = task;
  const counting: SeriesCounting = {
    task,
    filter: toLabelFilter(task.steps),
    seen: new FingerprintTable(),
    texts: new GroupTable(1, groupCapsOf(control)),
    counts: [],
    scanned: emptyScanStatistics(),
  };
  const damaged: DamagedChunk[] = [];
  for (const ref of task.chunks) {
    await yieldThread();
    checkControl(control);
    try {
      await useColumns(() => countChunk(counting, ref, open));
    } catch (error) {
      damaged.push(toDamagedChunk(ref, error));
    }
  }
  const { texts, counts, scanned } = counting;
  return { texts: texts.finish(), counts: Float64Array.from(counts), scanned, damaged };
}

/** Counts the series of a chunk that were not seen yet. Chunks come newest first, so the latest declaration counts. */
function countChunk(counting: SeriesCounting, ref: ChunkRef, open: OpenChunkView): void {
  const { task, filter, seen, scanned, texts } = counting;
  const view = open(ref);
  try {
    if (!mayHaveSeries(view, task.name, filter)) {
      countSkippedChunk(scanned, chunkSize(ref));
      return;
    }
    const chunk = new SeriesView(view);
    const range = clampToDay(task.fromNs, task.toNs, ref.day);
    const isInRange = view.header.timeNsMin >= range.from && view.header.timeNsMax < range.to;
    const countTexts = makeTextCounter(counting, chunk);
    visitSeries(chunk, task, filter, (index) => {
      if (!isInRange && !hasSamples(chunk, index, range)) return;
      const known = seen.count;
      const number = seen.findOrAdd(chunk.fingerprints[index * 2]!, chunk.fingerprints[index * 2 + 1]!);
      if (number === known) countTexts(index);
    });
    scanned.chunks++;
    scanned.rows += chunk.series;
    scanned.bytes += view.readBytes;
    const stateBytes = seen.byteLength + texts.byteLength;
    checkCaps(task.control, { columnBytes: view.decodedBytes, stateBytes, scannedRows: scanned.rows });
  } finally {
    view.close();
  }
}

function hasSamples(chunk: SeriesView, index: number, range: { from: number; to: number }): boolean {
  const times = chunk.timesOf(index);
  const { from, to } = sliceByTime(times, times, range);
  return from < to;
}

/** Returns a function that counts a series under each of its texts. */
function makeTextCounter(
  { task, texts, counts }: SeriesCounting,
  chunk: SeriesView,
): (index: number) => void {
  const { view } = chunk;
  const countStaged = () => {
    const number = texts.findOrAddStaged();
    counts[number] = (counts[number] ?? 0) + 1;
  };
  if (task.by === "metric") {
    return (index) => {
      texts.stageText(JSON.stringify([chunk.name(index), chunk.type(index), chunk.unit(index)]));
      countStaged();
    };
  }
  if (task.by === "key") {
    const keysOf = makeKeyReader(chunk);
    return (index) => {
      for (const key of keysOf(index)) {
        texts.stageText(key);
        countStaged();
      }
    };
  }
  const column = view.column({ kind: "attribute", key: task.by.label });
  return (index) => {
    if (!hasValue(column, index)) return;
    const bytes = columnBytes(column, index);
    texts.stage(bytes, 0, bytes.byteLength);
    countStaged();
  };
}

/** Returns a function that reads the label keys of a series. */
function makeKeyReader(chunk: SeriesView): (index: number) => string[] {
  const { view } = chunk;
  if (view.overflow.kind !== "absent") return (index) => chunk.labels(index).map(([key]) => key);
  const columns = view.header.columns
    .all()
    .flatMap(({ role, key }) =>
      role === "attribute" ? [{ key, column: view.column({ kind: "attribute", key }) }] : [],
    );
  return (index) => columns.flatMap(({ key, column }) => (hasValue(column, index) ? [key] : []));
}

/** Adds the series of a chunk to the census. A damaged chunk is ignored here; a query will report it. */
export function countActiveSeries({ chunk, tables }: CountActiveSeriesTask, { open }: ChunkAccess): void {
  const census = new ActiveSeries(tables);
  try {
    const view = open(chunk);
    try {
      const { fingerprints, series } = new SeriesView(view);
      for (let i = 0; i < series; i++) census.admit(fingerprints[i * 2 + 1]!, fingerprints[i * 2]!);
    } finally {
      view.close();
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
}
