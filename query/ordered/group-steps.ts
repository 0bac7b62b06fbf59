/** Steps over the rows of a group, row by row in the order of time. */

import type { AssignStep, KeepStep, SequenceStep } from "../plan/ordered/ordered-step.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import { filterInTurns } from "../time/in-turns.ts";
import { noCode } from "./key-codes.ts";
import type { RowTable } from "./row-table.ts";

/** Rows in order of time, each with the code of its group. */
export interface GroupedRows {
  table: RowTable;
  /** Places in the table. */
  rows: Uint32Array;
  /** For each of `rows` a number below `groups`, or `noCode`. */
  codes: Int32Array;
  groups: number;
}

const rowsPerLook = 1024;

/** Calls back for each row that belongs to a group, in order of time or against it. `i` is its place in `rows`. */
async function eachRow(
  { rows, codes }: GroupedRows,
  isBackward: boolean,
  work: WorkDeadline,
  visit: (row: number, code: number, i: number) => void,
): Promise<void> {
  for (let k = 0; k < rows.length; k++) {
    if (k % rowsPerLook === 0 && work.isTurnOver(64)) await work.yield();
    const i = isBackward ? rows.length - 1 - k : k;
    if (codes[i] !== noCode) visit(rows[i]!, codes[i]!, i);
  }
}

/**
 * For each row of the table the row of its group that is `count` rows before it, or after it; -1 where there is none,
 * or where it is farther away than `withinNs`.
 */
export async function findNeighbours(
  grouped: GroupedRows,
  { op, count, withinNs = Number.POSITIVE_INFINITY }: Pick<AssignStep, "op" | "count" | "withinNs">,
  work: WorkDeadline,
): Promise<Int32Array> {
  const { timeNs, rows: tableRows } = grouped.table;
  const nearest = new Int32Array(tableRows).fill(-1);
  const lastOf = new Int32Array(grouped.groups).fill(-1);
  const isBehind = op === "lead" || op === "until_next";
  await eachRow(grouped, isBehind, work, (row, code) => {
    nearest[row] = lastOf[code]!;
    lastOf[code] = row;
  });
  const found = new Int32Array(tableRows).fill(-1);
  await eachRow(grouped, false, work, (row) => {
    let other = row;
    for (let k = 0; k < count && other >= 0; k++) other = nearest[other]!;
    if (other >= 0 && Math.abs(timeNs[row]! - timeNs[other]!) <= withinNs) found[row] = other;
  });
  return found;
}

/**
 * For each row of the table the first row of its group, or the last. With `withinNs` the farthest one that is not
 * farther away than that.
 */
export async function findEnds(
  grouped: GroupedRows,
  end: "first" | "last",
  withinNs = Number.POSITIVE_INFINITY,
  work: WorkDeadline,
): Promise<Int32Array> {
  const { timeNs, rows: tableRows } = grouped.table;
  const next = new Int32Array(tableRows).fill(-1);
  const newestOf = new Int32Array(grouped.groups).fill(-1);
  const farthestOf = new Int32Array(grouped.groups).fill(-1);
  const found = new Int32Array(tableRows).fill(-1);
  await eachRow(grouped, end === "last", work, (row, code) => {
    const newest = newestOf[code]!;
    if (newest >= 0) next[newest] = row;
    newestOf[code] = row;
    // The rows of a group form a list; its head moves on as rows are left behind.
    let farthest = farthestOf[code]! < 0 ? row : farthestOf[code]!;
    while (Math.abs(timeNs[row]! - timeNs[farthest]!) > withinNs) farthest = next[farthest]!;
    farthestOf[code] = farthest;
    found[row] = farthest;
  });
  return found;
}

/** For each row of the table the number of rows of its group up to it; NaN for rows without a group. */
export async function numberRows(grouped: GroupedRows, work: WorkDeadline): Promise<Float64Array> {
  const numbers = new Float64Array(grouped.table.rows).fill(Number.NaN);
  const seen = new Uint32Array(grouped.groups);
  await eachRow(grouped, false, work, (row, code) => {
    numbers[row] = ++seen[code]!;
  });
  return numbers;
}

/** The first or the last row of each group, in order of time. */
export async function keepEnds(
  grouped: GroupedRows,
  { row: end }: KeepStep,
  work: WorkDeadline,
): Promise<Uint32Array> {
  const isSeen = new Uint8Array(grouped.groups);
  const isKept = new Uint8Array(grouped.rows.length);
  await eachRow(grouped, end === "last", work, (_, code, i) => {
    isKept[i] = isSeen[code] === 0 ? 1 : 0;
    isSeen[code] = 1;
  });
  return filterInTurns(grouped.rows, (_, i) => isKept[i] === 1, work);
}

/** What ends a sequence, and how long ago the sequence began. */
export interface FoundSequences {
  rows: Uint32Array;
  /** For each row of the table the place of the row that its sequence began with; -1 for rows that end none. */
  begins: Int32Array;
}

/** Tests a row of the table for each step of a sequence. */
export type StepTests = readonly ((row: number) => boolean)[];

/** A step without `not`, and what may not stand between the step before it and itself. */
interface WantedStep {
  passes: (row: number) => boolean;
  isForbiddenBefore: ((row: number) => boolean) | undefined;
}

/**
 * Finds the rows that end a sequence: a row of each step, one after the other, the last at most `withinNs` after the
 * first, without a row of a `not` step in between. A `not` at the beginning looks as far back from the first row, one at
 * the end as far ahead from the last. Of the sequences that one row ends the shortest is told. Each row is looked at
 * once: of all unfinished sequences of a group that have come equally far, only the one that began last matters.
 */
export async function findSequences(
  grouped: GroupedRows,
  { of, withinNs = Number.POSITIVE_INFINITY }: Pick<SequenceStep, "of" | "withinNs">,
  tests: StepTests,
  work: WorkDeadline,
): Promise<FoundSequences> {
  const { timeNs, rows: tableRows } = grouped.table;
  const wanted = wantedSteps(of, tests);
  const behind = of.at(-1)!.isNot ? tests.at(-1) : undefined;
  const steps = wanted.length;
  /** By group and step: the row with which the last unfinished sequence began that has come so far, or -1. */
  const began = new Int32Array(grouped.groups * steps).fill(-1);
  const forbiddenNs = new Float64Array(grouped.groups).fill(Number.NEGATIVE_INFINITY);
  const begins = new Int32Array(tableRows).fill(-1);
  await eachRow(grouped, false, work, (row, code) => {
    const atNs = timeNs[row]!;
    const base = code * steps;
    for (let step = steps - 1; step > 0; step--) {
      const { passes, isForbiddenBefore } = wanted[step]!;
      const before = began[base + step - 1]!;
      if (before >= 0 && atNs - timeNs[before]! <= withinNs && passes(row)) {
        if (step === steps - 1) begins[row] = before;
        else if (before >= began[base + step]!) began[base + step] = before;
      }
      if (before >= 0 && isForbiddenBefore?.(row) === true) began[base + step - 1] = -1;
    }
    const first = wanted[0]!;
    if (first.passes(row) && atNs - forbiddenNs[code]! > withinNs) {
      if (steps === 1) begins[row] = row;
      else began[base] = row;
    }
    if (first.isForbiddenBefore?.(row) === true) forbiddenNs[code] = atNs;
  });
  if (behind !== undefined) await dropFollowed(grouped, begins, behind, withinNs, work);
  return { rows: await filterInTurns(grouped.rows, (row) => begins[row]! >= 0, work), begins };
}

function wantedSteps(of: SequenceStep["of"], tests: StepTests): WantedStep[] {
  const wanted: WantedStep[] = [];
  for (const [i, { isNot }] of of.entries()) {
    if (isNot) continue;
    wanted.push({
      passes: tests[i]!,
      isForbiddenBefore: of[i - 1]?.isNot === true ? tests[i - 1] : undefined,
    });
  }
  return wanted;
}

/** Drops the ends of sequences that a row follows which may not. */
async function dropFollowed(
  grouped: GroupedRows,
  begins: Int32Array,
  isForbidden: (row: number) => boolean,
  withinNs: number,
  work: WorkDeadline,
): Promise<void> {
  const { timeNs } = grouped.table;
  const forbiddenNs = new Float64Array(grouped.groups).fill(Number.POSITIVE_INFINITY);
  await eachRow(grouped, true, work, (row, code) => {
    if (begins[row]! >= 0 && forbiddenNs[code]! - timeNs[row]! <= withinNs) begins[row] = -1;
    if (isForbidden(row)) forbiddenNs[code] = timeNs[row]!;
  });
}
