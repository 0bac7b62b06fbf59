/**
 * Reads documents from lines that alternate between an action and a document. The actions of most bodies are equal byte for
 * byte: the caller sets the action that is expected, and reading stops at any other.
 */
import {
  beginReading,
  countRow,
  hasLine,
  lastLine,
  nextFrom,
  passLine,
  rowFrom,
  rowsRead,
  rowTo,
} from "../batch/jsonlines.ts";
import { takeRow } from "../batch/jsonrows.ts";
import { atAction, atEnd, atLoneAction, atRowsMax } from "../batch/stops.ts";
import { sameBytes } from "../bytes.ts";

/** The known action, and its length; 0 where there is none. */
let action: usize = 0;
let actionLength: usize = 0;
/** Where the pair of lines begins that is read, and how many lines are before it. */
let pairAt: u32 = 0;
let linesBefore: u32 = 0;

/** Called first in each batch. */
export function beginBulk(): void {
  actionLength = 0;
}

/** Makes the action at [from, to) known. */
export function setAction(from: usize, to: usize): void {
  action = from;
  actionLength = to - from;
}

/** Where the pair of lines begins that was read last, in the source, and how many lines are before it. */
export function pairFrom(): u32 {
  return pairAt;
}
export function linesBeforePair(): u32 {
  return linesBefore;
}

/** Reads the documents up to `to`, at most `most`. Returns what it stopped at; the next call continues after that. */
export function readDocuments(to: usize, most: u32): i32 {
  beginReading();
  while (hasLine(to)) {
    pairAt = nextFrom();
    linesBefore = lastLine();
    if (rowsRead() == most) return atRowsMax;
    if (!passLine(to)) continue;
    if (!isKnownAction()) return atAction;
    if (!passToLine(to)) return atLoneAction;
    countRow();
    const found = takeRow();
    if (found != atEnd) return found;
  }
  return atEnd;
}

@inline
function isKnownAction(): bool {
  return rowTo - rowFrom == actionLength && sameBytes(action, rowFrom, <u32>actionLength);
}

/** Makes the next line that is not blank the row that is read. False where there is none. */
@inline
function passToLine(to: usize): bool {
  while (hasLine(to)) if (passLine(to)) return true;
  return false;
}
