/**
 * What the files of engine/kernels/assembly/batch export. Days, columns, tables and texts are given by their addresses.
 */
import type { Global } from "../kernels/webassembly.ts";

/** Why reading stopped: at the end, at a row that the caller has to parse ("unusual") or to admit ("staged"), or after as many rows as were asked for. */
export type RowStop = "end" | "unusual row" | "staged row" | "rows";

/** By their numbers in batch/stops.ts. */
export const rowStops: readonly RowStop[] = ["end", "unusual row", "staged row", "rows"];

/** The same of lines of actions and documents: also an action that is not the known one, or that has no document. */
export type DocumentStop = RowStop | "action" | "lone action";

/** By their numbers in batch/stops.ts. */
export const documentStops: readonly DocumentStop[] = [...rowStops, "action", "lone action"];

/** What batch/jsonlines.ts exports: the row that was read last, and how many were. */
interface LineKernels {
  lastRowFrom(): number;
  lastRowTo(): number;
  lastLine(): number;
  rowsRead(): number;
}

/** Tables of texts that rows of all signals have. */
interface TextKernels {
  setStable(from: number, to: number): void;
  textCount(table: number): number;
  textBytes(table: number): number;
  gatherTexts(table: number, offsets: number, bytes: number): void;
}

export interface BatchKernels extends LineKernels, TextKernels {
  stagedRowAt: Global;
  stagedKeysAt: Global;
  stagedFromAt: Global;
  stagedToAt: Global;
  stagedAttributesMax: Global;
  valueCount(column: number): number;
  columnRows(column: number): number;
  columnCodes(column: number): number;
  gatherCodes(column: number, rows: number, positions: number, out: number): void;
  beginBatch(): void;
  keyCount(): number;
  longestKeyBytes(): number;
  findKey(at: number, length: number): number;
  addKey(at: number, length: number): number;
  isKey(key: number, at: number, length: number): number;
  keyAt(key: number): number;
  keyLength(key: number): number;
  beginDay(number: number): number;
  continueDay(day: number): void;
  addRow(base: number): void;
  addValue(key: number, at: number, length: number): void;
  dayRows(day: number): number;
  dayTimes(day: number): number;
  dayArrivals(day: number): number;
  dayLevel(day: number): number;
  dayColumns(day: number): number;
  dayKey(day: number, i: number): number;
  dayColumn(day: number, i: number): number;
  dayMessageBytes(day: number): number;
  orderByTime(day: number): number;
  invertOrder(order: number, rows: number): number;
  gatherMessages(day: number, order: number, offsets: number, bytes: number): void;
  beginJson(): number;
  addName(at: number, length: number, kind: number): void;
  beginRows(source: number, from: number): void;
  beginLines(source: number, from: number): void;
  untimedRows(): number;
  rowsSkewedBehind(): number;
  rowsSkewedAhead(): number;
  readRows(to: number, most: number): number;
  readRow(from: number, to: number): number;
  sharedMax: Global;
  beginRecords(reserved: number): number;
  setFieldKey(field: number, key: number): void;
  shareStaged(): void;
  readRecords(source: number, from: number, to: number, room: number, roomTo: number, most: number): number;
  recordsRead(): number;
  nextRecord(): number;
  setDocumentKeys(service: number, index: number, id: number): void;
  setDocumentTexts(index: number, id: number, end: number, roomTo: number): void;
  beginBulk(): void;
  setAction(from: number, to: number): void;
  pairFrom(): number;
  linesBeforePair(): number;
  continueLines(from: number, linesBefore: number): void;
  readDocuments(to: number, most: number): number;
}

/** What batch/texttable.ts, batch/samplerows.ts and batch/samplelines.ts export for samples. */
export interface SampleKernels extends LineKernels, TextKernels {
  newColumn(): number;
  findText(table: number, at: number, length: number): number;
  internText(table: number, at: number, length: number): number;
  textAt(table: number, code: number): number;
  textLength(table: number, code: number): number;
  placeTexts(table: number, codes: number, count: number, offsets: number): number;
  gatherSomeTexts(table: number, codes: number, count: number, bytes: number): void;
  beginAliases(): void;
  setWindow(from: number, to: number, day: number): void;
  beginKey(kind: number): void;
  addToKey(at: number, length: number, separator: number): void;
  addNumberToKey(number: number): void;
  findAlias(): number;
  dropKey(): void;
  noteAlias(): number;
  setDirect(alias: number, number: number): void;
  sampleRows(): number;
  sampleSeries(): number;
  sampleTimes(): number;
  sampleValues(): number;
  beginSampleLines(source: number, from: number, kind: number): void;
  readSampleLines(to: number, most: number): number;
  readSampleRow(from: number, to: number): number;
  stagedAlias(): number;
  stagedSeconds(): number;
  stagedNanos(): number;
  stagedValue(): number;
  stagedValueFrom(): number;
  stagedValueTo(): number;
}
