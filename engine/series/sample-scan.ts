/** Aggregates the samples of a share of the series, on one thread: all chunks that have samples of them, day by day. */

import { GroupTable, groupCapsOf } from "../aggregate/group-table.ts";
import { type ChunkRef, chunkSize, extentOf, toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ScanAnswer } from "../chunk/chunk-task.ts";
import { type Column, columnBytes } from "../column/column.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { increaseAgeNsMax, sliceSamplesMax } from "../limits.ts";
import { compareArrivals } from "../metrics/sample-chunk-decoder.ts";
import { SeriesView } from "../metrics/series-view.ts";
import { clampToDay, type DayRange } from "../model/day-range.ts";
import { isCounterName } from "../model/sample.ts";
import type { Field, Filter } from "../plan/filter.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { hasGroupPerSeries, type SeriesKinds } from "../plan/sample-query.ts";
import { countSkippedChunk, emptyScanStatistics } from "../plan/scan-statistics.ts";
import { gatherText, type TextVector, toTextVector } from "../vector/text.ts";
import { FingerprintTable } from "./fingerprint-table.ts";
import { chooseFold, DayBuckets, type FoldKind, SeriesFolds } from "./folds.ts";
import { mergeByTime, sliceByTime } from "./overlap.ts";
import type { SampleAnswer, SampleTask } from "./sample-task.ts";
import { type ChunkSeries, locateSeries } from "./series-locations.ts";
import { SeriesPoints } from "./series-points.ts";
import { mayHaveSeries, toLabelFilter, visitSeries } from "./series-selection.ts";
import { type SingleSeriesPart, SingleSeriesPoints } from "./single-series-points.ts";
import { StatisticFolds } from "./statistic-folds.ts";

/** Series read between two checks of deadline and memory. */
const seriesPerCheck = 64;

/** A chunk that has series of the query. */
interface SelectedChunk extends ChunkSeries {
  ref: ChunkRef;
  timeNsMin: number;
  timeNsMax: number;
  /** Samples of these series. */
  samples: number;
}

/** The state of one task. */
interface SampleAggregation extends ScanAnswer, ChunkAccess {
  task: SampleTask;
  filter: Filter;
  /** Numbers the series; the arrays below are by this number. */
  series: FingerprintTable;
  groupOf: number[];
  /** The type that the latest chunk declares. */
  typeOf: string[];
  groups: GroupTable;
  points: SeriesPoints | SingleSeriesPoints;
  /** Different texts of the label that `distinct` counts. */
  texts: GroupTable;
  /** The series' text of that label; -1 for the empty one. */
  textOf: number[];
}

/** The second half of the task, once all series are known. */
interface SampleFolding extends SampleAggregation {
  folds: SeriesFolds | StatisticFolds;
}

/**
 * Runs one task. Damaged chunks are listed in the answer, whose points then must not be used. Throws Failure "limit",
 * "deadline" or "cancelled", and "input" for steps that are not filters over labels.
 */
export async function aggregateSamples(task: SampleTask, access: ChunkAccess): Promise<SampleAnswer> {
  const { groupBy, control, aggregate } = task;
  const caps = groupCapsOf(control);
  const aggregation: SampleAggregation = {
    ...access,
    task,
    filter: toLabelFilter(task.steps),
    series: new FingerprintTable(),
    groupOf: [],
    typeOf: [],
    groups: new GroupTable(Array.isArray(groupBy) ? groupBy.length : 1, caps),
    points: hasGroupPerSeries(task) ? new SingleSeriesPoints(aggregate) : new SeriesPoints(aggregate),
    texts: new GroupTable(1, caps),
    textOf: [],
    scanned: emptyScanStatistics(),
    damaged: [],
  };
  const chunks = await selectChunks(aggregation);
  const kinds: SeriesKinds = { gauge: false, counter: false };
  if (aggregation.damaged.length === 0) {
    const folding = { ...aggregation, folds: makeFolds(aggregation, kinds) };
    for (const [day, ofDay] of groupByDay(chunks)) await readDay(folding, day, ofDay);
    folding.folds.finish();
  }
  const { texts, scanned, damaged } = aggregation;
  return { ...finishGroups(aggregation), texts: texts.finish(), kinds, scanned, damaged };
}

function finishGroups(aggregation: SampleAggregation): Pick<SampleAnswer, "groups" | "labels" | "points"> {
  const { groups, points } = aggregation;
  if (points instanceof SingleSeriesPoints) {
    const part = points.finish();
    const { count, labels } = dropEmptyGroups(groups, part);
    return { groups: count, labels, points: { kind: "own", part } };
  }
  const part = points.finish();
  return { groups: groups.count, labels: groups.finish(), points: { kind: "gathered", part } };
}

/** Drops groups without points, such as series whose only samples are before the range. */
function dropEmptyGroups(groups: GroupTable, part: SingleSeriesPart): { count: number; labels: TextVector } {
  const labels = groups.finish();
  const has = new Uint8Array(groups.count);
  for (const group of part.groups) has[group] = 1;
  const kept = [...has.keys()].filter((group) => has[group] === 1);
  if (kept.length === groups.count) return { count: groups.count, labels };
  const numberOf = new Uint32Array(groups.count);
  for (const [number, group] of kept.entries()) numberOf[group] = number;
  for (let i = 0; i < part.groups.length; i++) part.groups[i] = numberOf[part.groups[i]!]!;
  return { count: kept.length, labels: gatherText(labels, kept) };
}

/**
 * Selects the chunks that have series of the query, in order of arrival, so that the latest declaration of a type wins.
 */
async function selectChunks(aggregation: SampleAggregation): Promise<SelectedChunk[]> {
  const { task, yieldThread, useColumns, scanned, damaged } = aggregation;
  const chunks: SelectedChunk[] = [];
  for (const ref of sortByArrival(task.chunks)) {
    await yieldThread();
    checkControl(task.control);
    try {
      const selected = await useColumns(() => selectFromChunk(aggregation, ref));
      if (selected === undefined) countSkippedChunk(scanned, chunkSize(ref));
      else chunks.push(selected);
    } catch (error) {
      damaged.push(toDamagedChunk(ref, error));
    }
  }
  return chunks;
}

function selectFromChunk(aggregation: SampleAggregation, ref: ChunkRef): SelectedChunk | undefined {
  const { task, open, filter, scanned } = aggregation;
  const view = open(ref);
  try {
    const mayHave = mayHaveSeries(view, task.name, filter);
    const selected = mayHave ? selectSeries(aggregation, ref, new SeriesView(view)) : undefined;
    scanned.bytes += view.readBytes;
    return selected;
  } finally {
    view.close();
  }
}

function sortByArrival(chunks: readonly ChunkRef[]): ChunkRef[] {
  return chunks.toSorted((a, b) => a.day - b.day || compareArrivals(extentOf(a), extentOf(b)));
}

function selectSeries(
  aggregation: SampleAggregation,
  ref: ChunkRef,
  chunk: SeriesView,
): SelectedChunk | undefined {
  const { task, series, filter } = aggregation;
  const { header } = chunk.view;
  const selected: SelectedChunk = {
    ref,
    timeNsMin: header.timeNsMin,
    timeNsMax: header.timeNsMax,
    samples: 0,
    seriesNumbers: [],
    indices: [],
  };
  const stageGroup = makeGroupLookup(aggregation, chunk);
  const distinct = task.aggregate.op === "distinct" ? labelColumn(chunk, task.aggregate.label) : undefined;
  let nextOrdinal = 0;
  visitSeries(chunk, task, filter, (index) => {
    const ordinal = nextOrdinal++;
    const number = series.findOrAdd(chunk.fingerprints[index * 2]!, chunk.fingerprints[index * 2 + 1]!);
    if (number === aggregation.groupOf.length) {
      aggregation.groupOf.push(stageGroup(index, ordinal));
      aggregation.typeOf.push("unknown");
      if (distinct !== undefined) aggregation.textOf.push(findOrAddText(aggregation, distinct, index));
    }
    const type = chunk.type(index);
    if (type !== "unknown") aggregation.typeOf[number] = type;
    selected.seriesNumbers.push(number);
    selected.indices.push(index);
    selected.samples += chunk.samplesOf(index);
  });
  return selected.seriesNumbers.length === 0 ? undefined : selected;
}

function labelColumn(chunk: SeriesView, key: string): Column {
  return chunk.view.column({ kind: "attribute", key });
}

function findOrAddText({ texts }: SampleAggregation, column: Column, index: number): number {
  const bytes = columnBytes(column, index);
  if (bytes.byteLength === 0) return -1;
  texts.stage(bytes, 0, bytes.byteLength);
  return texts.findOrAddStaged();
}

/** Returns a function that finds or adds the group of a series, given its index in the chunk and among the selected. */
function makeGroupLookup(
  aggregation: SampleAggregation,
  chunk: SeriesView,
): (index: number, ordinal: number) => number {
  const { task, groups, points } = aggregation;
  const { groupBy } = task;
  if (points instanceof SingleSeriesPoints) {
    const stageLabels = makeLabelStager(aggregation, chunk);
    return (index, ordinal) => {
      stageLabels(index, ordinal);
      return groups.addStaged();
    };
  }
  if (!Array.isArray(groupBy)) {
    const without = new Set(groupBy.without);
    return (index) => {
      groups.stageText(formatLabels(chunk.labels(index).filter(([key]) => !without.has(key))));
      return groups.findOrAddStaged();
    };
  }
  const columns = groupBy.map((field: Field) =>
    labelColumn(chunk, field.kind === "attribute" ? field.key : ""),
  );
  return (index) => {
    for (const column of columns) {
      const bytes = columnBytes(column, index);
      groups.stage(bytes, 0, bytes.byteLength);
    }
    return groups.findOrAddStaged();
  };
}

/**
 * Returns a function that stages all labels of a series. Where every series passes, the labels of the thread's series
 * are cached with the chunk, because formatting them costs more than reading their samples.
 */
function makeLabelStager(
  { task, filter, groups }: SampleAggregation,
  chunk: SeriesView,
): (index: number, ordinal: number) => void {
  if (matchFromStatistics(filter, chunk.view) !== "all")
    return (index) => groups.stageText(formatLabels(chunk.labels(index)));
  const { name, share } = task;
  const { offsets, bytes } = chunk.view.texts(`labels ${share.worker}/${share.workers} ${name}`, () => {
    const texts: string[] = [];
    visitSeries(chunk, task, filter, (index) => {
      texts.push(formatLabels(chunk.labels(index)));
    });
    return toTextVector(texts);
  });
  return (_, ordinal) => groups.stage(bytes, offsets[ordinal]!, offsets[ordinal + 1]!);
}

/** Labels as JSON: a list of pairs in the order of their keys. */
function formatLabels(labels: [key: string, value: string][]): string {
  return JSON.stringify(labels.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function makeFolds(aggregation: SampleAggregation, kinds: SeriesKinds): SeriesFolds | StatisticFolds {
  const { task, groupOf, typeOf, textOf, points } = aggregation;
  if (task.aggregate.op === "statistics") {
    const single = points as SingleSeriesPoints;
    kinds.gauge = groupOf.length > 0;
    return new StatisticFolds(groupOf.length, task.aggregate.of, task.fromNs, (series, bucket, values) =>
      single.addStatistics(groupOf[series]!, bucket, values),
    );
  }
  const isDistinct = task.aggregate.op === "distinct";
  const foldKinds = typeOf.map((declared): FoldKind => {
    const type = resolveType(declared, task);
    kinds.gauge ||= declared === "gauge" || type === "gauge";
    kinds.counter ||= declared !== "gauge" && type !== "gauge";
    return chooseFold(type, task);
  });
  if (points instanceof SingleSeriesPoints) {
    return new SeriesFolds(foldKinds, (series, bucket, value) => points.add(groupOf[series]!, bucket, value));
  }
  return new SeriesFolds(foldKinds, (series, bucket, value) => {
    const point = points.findOrAdd(groupOf[series]!, bucket);
    if (!isDistinct) points.add(point, value);
    // A series without the label adds the point but no text.
    else if (textOf[series]! >= 0) points.add(point, textOf[series]!);
  });
}

/** The type that a series is read as. */
function resolveType(declared: string, { of, name }: SampleTask): "gauge" | "counter" | "delta" {
  if (of === "value") return "gauge";
  if (declared === "delta") return "delta";
  if (of === "increase" || declared === "counter") return "counter";
  return declared === "unknown" && isCounterName(name) ? "counter" : "gauge";
}

function groupByDay(chunks: readonly SelectedChunk[]): [day: number, chunks: SelectedChunk[]][] {
  return [...Map.groupBy(chunks, ({ ref }) => ref.day)].sort(([a], [b]) => a - b);
}

/** Reads a day in slices of time, so that its columns need not be in memory all at once. */
async function readDay(folding: SampleFolding, day: number, chunks: readonly SelectedChunk[]): Promise<void> {
  const { task, folds } = folding;
  const counted = clampToDay(task.fromNs, task.toNs, day);
  const read = clampToDay(task.fromNs - BigInt(increaseAgeNsMax), task.toNs, day);
  folds.beginDay(new DayBuckets(day, task.fromNs, task.bucketNs), counted.from);
  for (const slice of splitByTime(chunks, read)) {
    if (folding.damaged.length > 0) return;
    const overlapping = chunks.filter(
      ({ timeNsMin, timeNsMax }) => timeNsMin < slice.to && timeNsMax >= slice.from,
    );
    await folding.useColumns(() => readSlice(folding, overlapping, slice));
  }
}

/** Splits a range where a chunk begins, once the chunks before have `sliceSamplesMax` samples. */
function splitByTime(chunks: readonly SelectedChunk[], { from, to }: DayRange): DayRange[] {
  const slices: DayRange[] = [];
  let start = from;
  let samples = 0;
  for (const chunk of chunks.toSorted((a, b) => a.timeNsMin - b.timeNsMin)) {
    if (samples >= sliceSamplesMax && chunk.timeNsMin > start && chunk.timeNsMin < to) {
      slices.push({ from: start, to: chunk.timeNsMin });
      start = chunk.timeNsMin;
      samples = 0;
    }
    samples += chunk.samples;
  }
  if (start < to) slices.push({ from: start, to });
  return slices;
}

/** Folds the samples in a slice, series by series. */
async function readSlice(folding: SampleFolding, selected: SelectedChunk[], slice: DayRange): Promise<void> {
  const { task, folds, scanned, damaged, series } = folding;
  const opened: SeriesView[] = [];
  const { offsets, chunks, indices } = locateSeries(selected, series.count);
  let chunk = 0;
  try {
    for (; chunk < selected.length; chunk++) opened.push(new SeriesView(folding.open(selected[chunk]!.ref)));
    for (let number = 0; number < series.count; number++) {
      if (number % seriesPerCheck === 0) await folding.yieldThread();
      if (number % seriesPerCheck === 0) checkControl(task.control);
      const runs = [];
      for (let i = offsets[number]!; i < offsets[number + 1]!; i++) {
        chunk = chunks[i]!;
        const from = Math.max(slice.from, folds.neededFrom(number));
        const view = opened[chunk]!;
        runs.push(sliceByTime(view.timesOf(indices[i]!), view.valuesOf(indices[i]!), { from, to: slice.to }));
      }
      for (const run of mergeByTime(runs)) {
        folds.add(number, run);
        scanned.rows += run.to - run.from;
      }
      if (number % seriesPerCheck === 0) checkMemory(folding, opened);
    }
    checkMemory(folding, opened);
  } catch (error) {
    // The deadline may pass when all chunks are open and none is being read.
    const reading = selected[chunk];
    if (reading === undefined) throw error;
    damaged.push(toDamagedChunk(reading.ref, error));
  } finally {
    for (const { view } of opened) {
      scanned.bytes += view.readBytes;
      view.close();
    }
    scanned.chunks += opened.length;
  }
}

function checkMemory(folding: SampleFolding, opened: readonly SeriesView[]): void {
  const { task, folds, points, groups, scanned } = folding;
  const columnBytes = opened.reduce((sum, { view }) => sum + view.decodedBytes, 0);
  const stateBytes = points.byteLength + groups.byteLength + folds.byteLength;
  checkCaps(task.control, { columnBytes, stateBytes, scannedRows: scanned.rows });
}
