/** The lines of a body, one after the other: where the row lies that is read. */
import { findLineEnd, setRowEnd, skipBlank } from "./jsontext.ts";

/** The source: rows are read from here, and ranges count from here. */
export let base: usize = 0;
/** Where the row that is read begins and ends. */
export let rowFrom: usize = 0;
export let rowTo: usize = 0;
/** Where the next line begins. */
let next: usize = 0;
let line: u32 = 0;
/** Rows that were read since `beginReading`. */
let read: u32 = 0;

/** Begins with the line at `from`; places count from `source`. */
export function beginLines(source: usize, from: usize): void {
  base = source;
  continueLines(from, 0);
}

/** Goes on with the line at `from`, before which there are so many. */
export function continueLines(from: usize, linesBefore: u32): void {
  next = from;
  line = linesBefore;
}

/** The last row's place in the source, and its line. */
export function lastRowFrom(): u32 {
  return <u32>(rowFrom - base);
}
export function lastRowTo(): u32 {
  return <u32>(rowTo - base);
}
export function lastLine(): u32 {
  return line;
}
/** Rows since `beginReading`, with the one at which reading stopped. */
export function rowsRead(): u32 {
  return read;
}

@inline
export function beginReading(): void {
  read = 0;
}

@inline
export function hasLine(to: usize): bool {
  return next < to;
}

/** Makes the next line, which ends at `to` or before, the row that is read. False where it is blank. */
@inline
export function takeLine(to: usize): bool {
  if (!passLine(to)) return false;
  countRow();
  return true;
}

/** As `takeLine`, for a line that may be no row. */
@inline
export function passLine(to: usize): bool {
  setRow(next, findLineEnd(next, to));
  next = rowTo + 1;
  line++;
  return skipBlank(rowFrom) != rowTo;
}

@inline
export function countRow(): void {
  read++;
}

/** Where the next line begins, in the source. */
export function nextFrom(): u32 {
  return <u32>(next - base);
}

/** Makes [from, to) the row that is read. */
@inline
export function setRow(from: usize, to: usize): void {
  rowFrom = from;
  rowTo = to;
  setRowEnd(to);
}
