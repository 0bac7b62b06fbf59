/** Aggregates over the samples of some series, on one thread: all chunks that hold samples of them, day by day. */

import { GroupTable, groupCaps } from "../aggregate/group-table.ts";
import type { ChunkRef, DamagedChunk, OpenChunkView } from "../chunk/chunk-ref.ts";
import { toDamagedChunk } from "../chunk/chunk-ref.ts";
import { type Column, columnBytes } from "../column/column.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { sliceSamplesMax } from "../limits.ts";
import { compareArrivals } from "../metrics/sample-chunk-decoder.ts";
import { SeriesView } from "../metrics/series-view.ts";
import { type DayRange, rangeInDay } from "../model/day-range.ts";
import { isCounterName } from "../model/sample.ts";
import type { Field, Filter } from "../plan/filter.ts";
import type { YieldThread } from "../plan/query-control.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import { increaseAgeNsMax, isOfEachSeries, type SeriesKinds } from "../plan/sample-query.ts";
import { countSkippedChunk, nothingScanned, type Scanned } from "../plan/scan-statistics.ts";
import { gatherText, type TextVector, textVector } from "../vector/text.ts";
import { FingerprintTable } from "./fingerprint-table.ts";
import { chooseFold, DayBuckets, type FoldKind, SeriesFolds } from "./folds.ts";
import { mergeByTime, sliceByTime } from "./overlap.ts";
import { type SingleSeriesPart, SingleSeriesPoints } from "./own-points.ts";
import type { SampleAnswer, SampleTask } from "./sample-task.ts";
import { SeriesPoints } from "./series-points.ts";
import { eachSeries, labelFilter, maySelect } from "./series-selection.ts";

/** Series taken between two looks at the clock. */
const checkEvery = 64;

/** A chunk that has series of the query. */
interface ChunkPart {
  ref: ChunkRef;
  arrivalMin: number;
  arrivalMax: number;
  timeNsMin: number;
  timeNsMax: number;
  samples: number;
  /** Of each series its number in the task, and its place in the chunk. */
  numbers: number[];
  places: number[];
}

interface SampleAggregation {
  task: SampleTask;
  open: OpenChunkView;
  pause: YieldThread;
  filter: Filter;
  series: FingerprintTable;
  /** Of each series its group and what it declares. */
  groupOf: number[];
  typeOf: string[];
  groups: GroupTable;
  points: SeriesPoints | SingleSeriesPoints;
  /** Texts of the label whose different ones are counted, and of each series the number of its own, -1 for the empty one. */
  texts: GroupTable;
  textOf: number[];
  scanned: Scanned;
  damaged: DamagedChunk[];
}

export async function aggregateSamples(
  task: SampleTask,
  open: OpenChunkView,
  pause: YieldThread,
): Promise<SampleAnswer> {
  const { groupBy, control, aggregate } = task;
  const caps = groupCaps(control);
  const evaluation: SampleAggregation = {
    task,
    open,
    pause,
    filter: labelFilter(task.steps),
    series: new FingerprintTable(),
    groupOf: [],
    typeOf: [],
    groups: new GroupTable(Array.isArray(groupBy) ? groupBy.length : 1, caps),
    points: isOfEachSeries(task) ? new SingleSeriesPoints(aggregate) : new SeriesPoints(aggregate),
    texts: new GroupTable(1, caps),
    textOf: [],
    scanned: nothingScanned(),
    damaged: [],
  };
  const parts = await selectParts(evaluation);
  const kinds: SeriesKinds = { gauge: false, counter: false };
  if (evaluation.damaged.length === 0) {
    const folds = foldsOf(evaluation, kinds);
    for (const [day, ofDay] of byDay(parts)) await readDay(evaluation, folds, day, ofDay);
    folds.finish();
  }
  const { texts, scanned, damaged } = evaluation;
  return { ...groupsAndPoints(evaluation), texts: texts.finish(), kinds, scanned, damaged };
}

function groupsAndPoints({
  groups,
  points,
}: SampleAggregation): Pick<SampleAnswer, "groups" | "labels" | "points"> {
  if (points instanceof SingleSeriesPoints) {
    const part = points.finish();
    const { count, labels } = withPoints(groups, part);
    return { groups: count, labels, points: { kind: "own", part } };
  }
  return {
    groups: groups.count,
    labels: groups.finish(),
    points: { kind: "gathered", part: points.gathered() },
  };
}

/** Without the groups that have no points, as series have that have samples but none in the range. */
function withPoints(groups: GroupTable, part: SingleSeriesPart): { count: number; labels: TextVector } {
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

/** Chunks with series of the query, in order of arrival; so what a series declares last holds. */
async function selectParts(evaluation: SampleAggregation): Promise<ChunkPart[]> {
  const { task, pause, open, scanned, damaged } = evaluation;
  const parts: ChunkPart[] = [];
  for (const ref of inOrderOfArrival(task.chunks)) {
    await pause();
    checkControl(task.control);
    try {
      const view = open(ref);
      try {
        const part = maySelect(view, task.name, evaluation.filter)
          ? selectPart(evaluation, ref, new SeriesView(view))
          : undefined;
        scanned.bytes += view.readBytes;
        if (part === undefined) countSkippedChunk(scanned, view.header);
        else parts.push(part);
      } finally {
        view.close();
      }
    } catch (error) {
      damaged.push(toDamagedChunk(ref, error));
    }
  }
  return parts;
}

function inOrderOfArrival(chunks: readonly ChunkRef[]): ChunkRef[] {
  return chunks.toSorted((a, b) => a.day - b.day || compareArrivals(arrivalsOf(a), arrivalsOf(b)));
}

function arrivalsOf(ref: ChunkRef): { arrivalMin: number; arrivalMax: number } {
  return ref.kind === "sealed" ? ref.entry : ref;
}

function selectPart(evaluation: SampleAggregation, ref: ChunkRef, chunk: SeriesView): ChunkPart | undefined {
  const { task, series, filter } = evaluation;
  const { header } = chunk.view;
  const part: ChunkPart = {
    ref,
    ...arrivalsOf(ref),
    timeNsMin: header.timeNsMin,
    timeNsMax: header.timeNsMax,
    samples: 0,
    numbers: [],
    places: [],
  };
  const stageGroup = groupStager(evaluation, chunk);
  const distinct = task.aggregate.op === "distinct" ? labelColumn(chunk, task.aggregate.label) : undefined;
  const { name, share, control } = task;
  let index = 0;
  eachSeries(chunk, { name, filter, share, control }, (place) => {
    const at = index++;
    const number = series.numberOf(chunk.fingerprints[place * 2]!, chunk.fingerprints[place * 2 + 1]!);
    if (number === evaluation.groupOf.length) {
      evaluation.groupOf.push(stageGroup(place, at));
      evaluation.typeOf.push("unknown");
      if (distinct !== undefined) evaluation.textOf.push(textNumber(evaluation, distinct, place));
    }
    const type = chunk.type(place);
    if (type !== "unknown") evaluation.typeOf[number] = type;
    part.numbers.push(number);
    part.places.push(place);
    part.samples += chunk.samplesOf(place);
  });
  return part.numbers.length === 0 ? undefined : part;
}

function labelColumn(chunk: SeriesView, key: string): Column {
  return chunk.view.column({ kind: "attribute", key });
}

function textNumber({ texts }: SampleAggregation, column: Column, place: number): number {
  const bytes = columnBytes(column, place);
  if (bytes.byteLength === 0) return -1;
  texts.stage(bytes, 0, bytes.byteLength);
  return texts.numberOfStaged();
}

/** The number of the group that a series of the chunk belongs to. */
function groupStager(
  evaluation: SampleAggregation,
  chunk: SeriesView,
): (place: number, index: number) => number {
  const { task, groups, points } = evaluation;
  const { groupBy } = task;
  if (points instanceof SingleSeriesPoints) {
    const textsOf = labelStager(evaluation, chunk);
    return (place, index) => {
      textsOf(place, index);
      return groups.numberOfNew();
    };
  }
  if (!Array.isArray(groupBy)) {
    const without = new Set(groupBy.without);
    return (place) => {
      groups.stageText(labelsJson(chunk.labels(place).filter(([key]) => !without.has(key))));
      return groups.numberOfStaged();
    };
  }
  const columns = groupBy.map((field: Field) =>
    labelColumn(chunk, field.kind === "attribute" ? field.key : ""),
  );
  return (place) => {
    for (const column of columns) {
      const bytes = columnBytes(column, place);
      groups.stage(bytes, 0, bytes.byteLength);
    }
    return groups.numberOfStaged();
  };
}

/** Stages all labels of a series. Those of all series of the thread are kept with the chunk, as they cost more than their samples. */
function labelStager(
  { task, filter, groups }: SampleAggregation,
  chunk: SeriesView,
): (place: number, index: number) => void {
  if (matchFromStatistics(filter, chunk.view) !== "all")
    return (place) => groups.stageText(labelsJson(chunk.labels(place)));
  const { name, share, control } = task;
  const { offsets, bytes } = chunk.view.texts(`labels ${share.worker}/${share.workers} ${name}`, () => {
    const texts: string[] = [];
    eachSeries(chunk, { name, filter, share, control }, (place) => {
      texts.push(labelsJson(chunk.labels(place)));
    });
    return textVector(texts);
  });
  return (_, index) => groups.stage(bytes, offsets[index]!, offsets[index + 1]!);
}

/** As pairs in the order of their keys. */
function labelsJson(labels: [key: string, value: string][]): string {
  return JSON.stringify(labels.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function foldsOf(
  { task, groupOf, typeOf, textOf, points }: SampleAggregation,
  kinds: SeriesKinds,
): SeriesFolds {
  const isDistinct = task.aggregate.op === "distinct";
  const foldKinds = typeOf.map((declared): FoldKind => {
    const type = readAs(declared, task);
    kinds.gauge ||= declared === "gauge" || type === "gauge";
    kinds.counter ||= declared !== "gauge" && type !== "gauge";
    return chooseFold(type, task.aggregate);
  });
  if (points instanceof SingleSeriesPoints) {
    return new SeriesFolds(foldKinds, (series, bucket, value) => points.add(groupOf[series]!, bucket, value));
  }
  return new SeriesFolds(foldKinds, (series, bucket, value) => {
    const place = points.place(groupOf[series]!, bucket);
    if (!isDistinct) points.add(place, value);
    // Series without the label make the point, of no text.
    else if (textOf[series]! >= 0) points.add(place, textOf[series]!);
  });
}

function readAs(declared: string, { of, name }: SampleTask): "gauge" | "counter" | "delta" {
  if (declared === "delta") return "delta";
  if (of === "increase" || declared === "counter") return "counter";
  return declared === "unknown" && isCounterName(name) ? "counter" : "gauge";
}

function byDay(parts: readonly ChunkPart[]): [day: number, parts: ChunkPart[]][] {
  return [...Map.groupBy(parts, ({ ref }) => ref.day)].sort(([a], [b]) => a - b);
}

/** In slices of time, so that the columns of a day need not fit into memory at once. */
async function readDay(
  evaluation: SampleAggregation,
  folds: SeriesFolds,
  day: number,
  parts: readonly ChunkPart[],
): Promise<void> {
  const { task } = evaluation;
  const counted = rangeInDay(task.fromNs, task.toNs, day);
  const read = rangeInDay(task.fromNs - BigInt(increaseAgeNsMax), task.toNs, day);
  folds.begin(new DayBuckets(day, task.fromNs, task.bucketNs), counted.from);
  for (const slice of slicesOf(parts, read)) {
    if (evaluation.damaged.length > 0) return;
    const overlapping = parts.filter(
      ({ timeNsMin, timeNsMax }) => timeNsMin < slice.to && timeNsMax >= slice.from,
    );
    await readSlice(evaluation, folds, overlapping, slice, counted.from);
  }
}

/** Ranges that begin where a chunk begins, once those before hold enough. */
function slicesOf(parts: readonly ChunkPart[], { from, to }: DayRange): DayRange[] {
  const slices: DayRange[] = [];
  let start = from;
  let samples = 0;
  for (const part of parts.toSorted((a, b) => a.timeNsMin - b.timeNsMin)) {
    if (samples >= sliceSamplesMax && part.timeNsMin > start && part.timeNsMin < to) {
      slices.push({ from: start, to: part.timeNsMin });
      start = part.timeNsMin;
      samples = 0;
    }
    samples += part.samples;
  }
  if (start < to) slices.push({ from: start, to });
  return slices;
}

/** Where a series has samples: a chunk, and its place there. */
interface Places {
  /** Of each series the first of its places, and the number of all. */
  offsets: Uint32Array;
  chunks: Uint32Array;
  places: Uint32Array;
}

/** Parts stand in order of arrival, and so do the places of each series. */
function placesOf(parts: readonly ChunkPart[], series: number): Places {
  const offsets = new Uint32Array(series + 1);
  for (const { numbers } of parts) for (const number of numbers) offsets[number + 1]!++;
  for (let number = 0; number < series; number++) offsets[number + 1]! += offsets[number]!;
  const next = offsets.slice();
  const chunks = new Uint32Array(offsets[series]!);
  const places = new Uint32Array(offsets[series]!);
  for (const [chunk, part] of parts.entries()) {
    for (let i = 0; i < part.numbers.length; i++) {
      const at = next[part.numbers[i]!]!++;
      chunks[at] = chunk;
      places[at] = part.places[i]!;
    }
  }
  return { offsets, chunks, places };
}

async function readSlice(
  evaluation: SampleAggregation,
  folds: SeriesFolds,
  parts: readonly ChunkPart[],
  slice: DayRange,
  countedFrom: number,
): Promise<void> {
  const { task, scanned, damaged, series } = evaluation;
  const opened: SeriesView[] = [];
  const { offsets, chunks, places } = placesOf(parts, series.count);
  let chunk = 0;
  try {
    for (; chunk < parts.length; chunk++) opened.push(new SeriesView(evaluation.open(parts[chunk]!.ref)));
    for (let number = 0; number < series.count; number++) {
      if (number % checkEvery === 0) await evaluation.pause();
      if (number % checkEvery === 0) checkControl(task.control);
      const runs = [];
      for (let i = offsets[number]!; i < offsets[number + 1]!; i++) {
        chunk = chunks[i]!;
        const from = folds.looksBack(number) ? slice.from : Math.max(slice.from, countedFrom);
        const view = opened[chunk]!;
        runs.push(sliceByTime(view.timesOf(places[i]!), view.valuesOf(places[i]!), { from, to: slice.to }));
      }
      for (const run of mergeByTime(runs)) {
        folds.add(number, run);
        scanned.rows += run.to - run.from;
      }
      if (number % checkEvery === 0) checkMemory(evaluation, folds, opened);
    }
    checkMemory(evaluation, folds, opened);
  } catch (error) {
    damaged.push(toDamagedChunk(parts[chunk]!.ref, error));
  } finally {
    for (const { view } of opened) {
      scanned.bytes += view.readBytes;
      view.close();
    }
    scanned.chunks += opened.length;
  }
}

function checkMemory(
  { task, points, groups, scanned }: SampleAggregation,
  folds: SeriesFolds,
  opened: readonly SeriesView[],
): void {
  const columns = opened.reduce((sum, { view }) => sum + view.decodedBytes, 0);
  const memoryBytes = columns + points.byteLength + groups.byteLength + folds.byteLength;
  checkCaps(task.control, { memoryBytes, scannedRows: scanned.rows });
}
