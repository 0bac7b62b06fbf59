/** Finds for each row the first row of another table with the same texts of some labels. */

import type { WorkDeadline } from "../time/deadline.ts";
import { fillInTurns } from "../time/in-turns.ts";
import { KeyCodes, type KeyPart, noCode } from "./key-codes.ts";
import type { RowTable } from "./row-table.ts";

/** The rows that are joined, and the labels by which they are. */
export interface JoiningRows {
  table: RowTable;
  rows: Uint32Array;
  parts: readonly KeyPart[];
}

/** The table whose rows are joined to them. */
export interface OtherRows {
  table: RowTable;
  hashes: readonly { low: Uint32Array; high: Uint32Array }[];
}

/** The rows of the other table by the code of their labels, each code's rows in order of time. */
interface RowsByCode {
  /** Where the rows of each code begin in `rows`, and after the last where they end. */
  offsets: Uint32Array;
  rows: Uint32Array;
}

/**
 * For each row of the table the first row of the other table in time that has the same texts, not farther away than
 * `withinNs`; -1 where there is none. A row that has none of the labels is joined with none.
 */
export async function findJoinedRows(
  joining: JoiningRows,
  other: OtherRows,
  withinNs: number | undefined,
  work: WorkDeadline,
): Promise<Int32Array> {
  const keys = new KeyCodes();
  const all = await fillInTurns(new Uint32Array(other.table.rows), (i) => i, work);
  const otherParts = other.hashes.map(({ low, high }): KeyPart => {
    return { low: (row) => low[row]!, high: (row) => high[row]! };
  });
  const byCode = groupByCode(await keys.codesOf(all, otherParts, work), keys.count);
  const codes = await keys.codesOf(joining.rows, joining.parts, work);
  const found = new Int32Array(joining.table.rows).fill(-1);
  // Both tables count nanoseconds from their own starts.
  const shiftNs = Number(joining.table.fromNs - other.table.fromNs);
  for (let i = 0; i < joining.rows.length; i++) {
    if (i % 1024 === 0 && work.isTurnOver(64)) await work.yield();
    const [row, code] = [joining.rows[i]!, codes[i]!];
    // Codes after those of the other table are of texts that it does not have.
    if (code === noCode || code >= byCode.offsets.length - 1) continue;
    found[row] = firstWithin(
      byCode,
      code,
      other.table.timeNs,
      joining.table.timeNs[row]! + shiftNs,
      withinNs,
    );
  }
  return found;
}

function groupByCode(codes: Int32Array, count: number): RowsByCode {
  const offsets = new Uint32Array(count + 1);
  for (let row = 0; row < codes.length; row++) if (codes[row] !== noCode) offsets[codes[row]! + 1]!++;
  for (let code = 0; code < count; code++) offsets[code + 1] = offsets[code]! + offsets[code + 1]!;
  const next = offsets.slice();
  const rows = new Uint32Array(offsets[count]!);
  for (let row = 0; row < codes.length; row++) if (codes[row] !== noCode) rows[next[codes[row]!]!++] = row;
  return { offsets, rows };
}

function firstWithin(
  { offsets, rows }: RowsByCode,
  code: number,
  timeNs: Float64Array,
  atNs: number,
  withinNs = Number.POSITIVE_INFINITY,
): number {
  let [low, high] = [offsets[code]!, offsets[code + 1]!];
  const end = high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeNs[rows[middle]!]! < atNs - withinNs) low = middle + 1;
    else high = middle;
  }
  if (low === end) return -1;
  const first = rows[low]!;
  return timeNs[first]! <= atNs + withinNs ? first : -1;
}
