/** Reads some fields of the matching rows as columns, on one thread. */

import { allocateFingerprints, hashField, hashString } from "../aggregate/field-fingerprints.ts";
import { compileNumberParser, type FieldRead, readNumbers } from "../aggregate/field-numbers.ts";
import type { ChunkRef, DamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkAccess, ScanAnswer, SelectionTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnText } from "../column/column.ts";
import { canGroupByCodes } from "../column/dictionary.ts";
import { Failure } from "../failure.ts";
import { selectPassingRows } from "../filter/matching-rows.ts";
import { RowState } from "../filter/row-state.ts";
import { compileRowSteps, fieldTextOf, type RowSteps, splitSteps } from "../filter/row-steps.ts";
import { blockRows } from "../limits.ts";
import { dayStartNs } from "../model/day.ts";
import type { Filter, Step } from "../plan/filter.ts";
import { checkCaps, checkControl } from "../plan/query-control.ts";
import type { ColumnData, ColumnRead } from "../plan/row-query.ts";
import { emptyScanStatistics } from "../plan/scan-statistics.ts";
import {
  answerFrom,
  type ChunkScan,
  eachChunk,
  fromColumns,
  type OpenChunk,
} from "../summary/answer-source.ts";
import { toLabel } from "../summary/header-counts.ts";
import { hasBit } from "../vector/bitmap.ts";
import { joinBytes, joinFloats, joinInts } from "../vector/joined.ts";
import { textAt } from "../vector/text.ts";
import { type ChunkMatch, matchRows } from "./matched-rows.ts";

/** Asks for fields of the matching rows of some chunks. */
export interface RowColumnsTask extends SelectionTask {
  kind: "columns";
  reads: readonly ColumnRead[];
  withArrivals: boolean;
  conditions: readonly Step[][];
  /** Rows of one thread at most. */
  rowsMax: number;
}

export interface RowColumnsAnswer extends ScanAnswer {
  /** Nanoseconds since `fromNs`; in order within a chunk, not over all. */
  timeNs: Float64Array;
  /** One for each of `reads`. */
  columns: ColumnData[];
  arrivals: Float64Array;
  /** One for each condition of the task. */
  conditions: Uint8Array[];
}

/** A read on one thread. */
interface RowColumnsRead extends ChunkScan {
  task: RowColumnsTask;
  /** Steps from the first extraction on, if there is one. */
  extraction: RowSteps | undefined;
  times: Float64Array[];
  arrivals: Float64Array[];
  asked: RowCondition[];
  collectors: Collector[];
  rows: number;
  bytes: number;
}

/** Matching rows of a chunk: `list` has their places after `match.from`. */
interface ListedRows {
  view: ChunkView;
  match: ChunkMatch;
  list: Uint32Array;
  read: FieldRead;
  checkpoint: () => void;
}

/** Collects one field, chunk after chunk. */
interface Collector {
  addRows(rows: ListedRows): Promise<void>;
  addRow(row: RowState): void;
  finish(): ColumnData;
  /** Bytes of the texts that it holds. */
  readonly bytes?: number;
}

/** Reads all chunks of a task. Throws Failure "input", "deadline", "cancelled", "limit". */
export async function readRowColumns(task: RowColumnsTask, access: ChunkAccess): Promise<RowColumnsAnswer> {
  const read = createRead(task, access);
  await answerFrom([eachChunk(read, [fromColumns((chunk) => readChunkRows(read, chunk))])], task);
  return finishRead(read);
}

/** Finds the chunks that may have matching rows, by their statistics: they must be read. Throws as `readRowColumns`. */
export async function pruneRowColumns(
  task: RowColumnsTask,
  access: ChunkAccess,
): Promise<{ answer: RowColumnsAnswer; residual: readonly ChunkRef[] }> {
  const read = createRead(task, access);
  const residual = await answerFrom([eachChunk(read, [])], task);
  return { answer: finishRead(read), residual };
}

function createRead(task: RowColumnsTask, access: ChunkAccess): RowColumnsRead {
  const { filters, rest } = splitSteps(task.steps);
  const damaged: DamagedChunk[] = [];
  return {
    ...{ ...access, task, scanned: emptyScanStatistics(), damaged, rows: 0, bytes: 0 },
    ...{ times: [], arrivals: [], asked: task.conditions.map((steps) => new RowCondition(steps)) },
    filter: { kind: "and", of: filters },
    extraction: rest.length === 0 ? undefined : compileRowSteps(rest),
    collectors: task.reads.map(makeCollector),
  };
}

function finishRead(read: RowColumnsRead): RowColumnsAnswer {
  const { times, arrivals, asked, collectors, scanned, damaged } = read;
  return {
    timeNs: joinFloats(times),
    arrivals: joinFloats(arrivals),
    conditions: asked.map((condition) => condition.finish()),
    columns: collectors.map((collector) => collector.finish()),
    ...{ scanned, damaged },
  };
}

async function readChunkRows(read: RowColumnsRead, chunk: OpenChunk): Promise<void> {
  const { task, scanned } = read;
  const { view } = chunk;
  scanned.chunks++;
  const { matched, scannedRows } = await matchRows(chunk, task, read);
  if (matched.rows > 0) {
    const rows = listRows(read, matched);
    if (read.extraction === undefined) {
      takeTimes(read, rows);
      for (const condition of read.asked) await condition.addRows(rows);
      for (const collector of read.collectors) await collector.addRows(rows);
    } else await readExtracted(read, rows, read.extraction);
  }
  scanned.rows += scannedRows;
  scanned.bytes += view.readBytes;
  checkCaps(task.control, {
    columnBytes: view.decodedBytes,
    stateBytes: read.bytes + textBytes(read),
    scannedRows: scanned.rows,
  });
}

function listRows({ task, yieldThread }: RowColumnsRead, match: ChunkMatch): ListedRows {
  const { view, from, to, selection } = match;
  const list = view.heap.scratch.uint32(match.rows);
  view.heap.kernels.expand(selection, 0, list);
  const checkpoint = () => checkControl(task.control);
  const yieldTurn = async () => {
    checkpoint();
    await yieldThread();
  };
  return { view, match, list, checkpoint, read: { view, rows: { from, to, selection }, list, yieldTurn } };
}

/** Bytes that a row takes in the answer, about: its time, and a number or two halves of a hash for each column. */
const cellBytes = 8;
/** Of a text in memory. */
const bytesPerCharacter = 2;

function textBytes({ collectors }: RowColumnsRead): number {
  return collectors.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
}

function countRows(read: RowColumnsRead, rows: number): void {
  const { task } = read;
  read.rows += rows;
  read.bytes += rows * (cellBytes * (2 + task.reads.length) + task.conditions.length);
  if (read.rows > task.rowsMax) throw new Failure("limit", `the query finds more than ${task.rowsMax} rows`);
}

function takeTimes(read: RowColumnsRead, { view, match, list }: ListedRows): void {
  countRows(read, list.length);
  const offset = Number(dayStartNs(view.day) - read.task.fromNs);
  const { timeNs } = view;
  read.times.push(Float64Array.from(list, (place) => offset + timeNs[match.from + place]!));
  if (!read.task.withArrivals) return;
  const { arrival } = view;
  read.arrivals.push(Float64Array.from(list, (place) => arrival[match.from + place]!));
}

/** Takes rows one by one through the steps, since extracted attributes differ from row to row. */
async function readExtracted(
  read: RowColumnsRead,
  { view, match, list, read: { yieldTurn } }: ListedRows,
  passes: RowSteps,
): Promise<void> {
  const offset = Number(dayStartNs(view.day) - read.task.fromNs);
  const { withArrivals } = read.task;
  const times: number[] = [];
  const arrivals: number[] = [];
  for (const [i, place] of list.entries()) {
    if (i % blockRows === 0) await yieldTurn();
    const state = new RowState(view, match.from + place);
    if (!passes(state)) continue;
    times.push(offset + view.timeNs[match.from + place]!);
    if (withArrivals) arrivals.push(state.arrival);
    for (const condition of read.asked) condition.addRow(state);
    for (const collector of read.collectors) collector.addRow(state);
  }
  countRows(read, times.length);
  read.times.push(Float64Array.from(times));
  read.arrivals.push(Float64Array.from(arrivals));
}

/** Notes which rows pass some steps, chunk after chunk. */
class RowCondition {
  readonly #filter: Filter;
  /** Steps from the first extraction on, if there is one. */
  readonly #extraction: RowSteps | undefined;
  readonly #passes: RowSteps;
  readonly #passed: Uint8Array[] = [];
  #single: number[] = [];

  constructor(steps: readonly Step[]) {
    const { filters, rest } = splitSteps(steps);
    this.#filter = { kind: "and", of: filters };
    this.#extraction = rest.length === 0 ? undefined : compileRowSteps(rest);
    this.#passes = compileRowSteps(steps);
  }

  async addRows({ view, match, list, checkpoint, read: { yieldTurn } }: ListedRows): Promise<void> {
    const { from, to } = match;
    const passed = new Uint8Array(list.length);
    this.#passed.push(passed);
    const block = { from, rows: to - from, selection: match.selection };
    const selection = await selectPassingRows(this.#filter, view, block, checkpoint, yieldTurn);
    for (let i = 0; i < list.length; i++) {
      const place = list[i]!;
      if (!hasBit(selection, place)) continue;
      if (this.#extraction !== undefined) {
        if (i % blockRows === 0) await yieldTurn();
        if (!this.#extraction(new RowState(view, from + place))) continue;
      }
      passed[i] = 1;
    }
  }

  addRow(row: RowState): void {
    this.#single.push(this.#passes(row.copy()) ? 1 : 0);
  }

  finish(): Uint8Array {
    return joinBytes([...this.#passed, Uint8Array.from(this.#single)]);
  }
}

function makeCollector({ field, as }: ColumnRead): Collector {
  switch (as) {
    case "text":
      return new TextCollector(field);
    case "hash":
      return new HashCollector(field);
    case "number":
      return new NumberCollector(field);
  }
}

/** A dictionary of all texts of a chunk is made where at least one row in so many is read. */
const fewRows = 8;

/** Codes of distinct texts; code 0 is the empty text, which stands for rows that lack the field. */
class TextCollector implements Collector {
  readonly #field: ColumnRead["field"];
  readonly #codeOf = new Map([["", 0]]);
  readonly #codes: Uint32Array[] = [];
  #single: number[] = [];
  bytes = 0;

  constructor(field: ColumnRead["field"]) {
    this.#field = field;
  }

  async addRows({ view, match, list }: ListedRows): Promise<void> {
    const codes = new Uint32Array(list.length);
    this.#codes.push(codes);
    const stored = view.column(this.#field);
    if (!canGroupByCodes(stored) && list.length * fewRows < view.rows) {
      for (let i = 0; i < list.length; i++) {
        const text = columnText(stored, match.from + list[i]!);
        codes[i] = this.#code(toLabel(this.#field, text));
      }
      return;
    }
    const column = view.dictionary(this.#field);
    if (column.kind === "constant") codes.fill(this.#code(toLabel(this.#field, column.value)));
    if (column.kind !== "dictionary") return;
    const { values, valueCount } = column;
    // One more than the code of each value, 0 where it is not known yet. The last one is of rows without the field.
    const known = new Uint32Array(valueCount + 1);
    known[valueCount] = 1;
    for (let i = 0; i < list.length; i++) {
      const own = column.codes[match.from + list[i]!]!;
      if (known[own] === 0) known[own] = 1 + this.#code(toLabel(this.#field, textAt(values, own)));
      codes[i] = known[own]! - 1;
    }
  }

  addRow(row: RowState): void {
    this.#single.push(this.#code(toLabel(this.#field, fieldTextOf(row, this.#field))));
  }

  finish(): ColumnData {
    const codes = [...this.#codes, Uint32Array.from(this.#single)];
    return { as: "text", codes: joinInts(codes), values: [...this.#codeOf.keys()] };
  }

  #code(text: string): number {
    let code = this.#codeOf.get(text);
    if (code === undefined) {
      code = this.#codeOf.size;
      this.#codeOf.set(text, code);
      this.bytes += text.length * bytesPerCharacter;
    }
    return code;
  }
}

class HashCollector implements Collector {
  readonly #field: ColumnRead["field"];
  readonly #low: Uint32Array[] = [];
  readonly #high: Uint32Array[] = [];

  constructor(field: ColumnRead["field"]) {
    this.#field = field;
  }

  async addRows({ list, read }: ListedRows): Promise<void> {
    const { low, high } = allocateFingerprints(list.length);
    this.#low.push(low);
    this.#high.push(high);
    const hashes = await hashField(read, this.#field);
    if (hashes === undefined) return;
    for (let i = 0; i < list.length; i++) {
      const at = hashes.codes === null ? list[i]! : hashes.codes[list[i]!]!;
      low[i] = hashes.low[at]!;
      high[i] = hashes.high[at]!;
    }
  }

  addRow(row: RowState): void {
    const { low, high } = allocateFingerprints(1);
    hashString({ low, high }, 0, toLabel(this.#field, fieldTextOf(row, this.#field)));
    this.#low.push(low);
    this.#high.push(high);
  }

  finish(): ColumnData {
    return { as: "hash", low: joinInts(this.#low), high: joinInts(this.#high) };
  }
}

class NumberCollector implements Collector {
  readonly #field: ColumnRead["field"];
  readonly #parse: (text: string) => number;
  readonly #values: Float64Array[] = [];

  constructor(field: ColumnRead["field"]) {
    this.#field = field;
    this.#parse = compileNumberParser({ field });
  }

  async addRows({ list, read }: ListedRows): Promise<void> {
    const values = new Float64Array(list.length).fill(Number.NaN);
    this.#values.push(values);
    const numbers = await readNumbers(read, { field: this.#field });
    if (numbers === undefined) return;
    for (let i = 0; i < list.length; i++) {
      const place = list[i]!;
      if (numbers.valid === null || hasBit(numbers.valid, place)) values[i] = numbers.values[place]!;
    }
  }

  addRow(row: RowState): void {
    const text = fieldTextOf(row, this.#field);
    this.#values.push(Float64Array.of(text === undefined ? Number.NaN : this.#parse(text)));
  }

  finish(): ColumnData {
    return { as: "number", values: joinFloats(this.#values) };
  }
}
