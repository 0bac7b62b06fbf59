/** Rows in the order of their arrival: who reads what, and how the parts become one answer. */

import { arrivalsOf } from "../chunk/chunk-ref.ts";
import { endOfTimeNs } from "../model/day-range.ts";
import type { Control } from "../plan/query-control.ts";
import type { ArrivedQuery } from "../plan/row-query.ts";
import type { ArrivedAnswer, ArrivedRows } from "../scan/arrival-scan.ts";
import { RowList } from "./row-list.ts";
import { askThreads, type Dispatch, untilSound } from "./scatter-gather.ts";

/** What one selection found. */
export interface Arrived {
  /** In the order of arrival, from the first on; none where they are only counted. */
  rows: RowList;
  /** Matching rows up to `through`. */
  count: number;
  /** Every matching row that arrived up to here is told: less than asked for where there are more rows than one answer has. */
  through: number;
}

export async function dispatchArrived(
  dispatch: Dispatch,
  { signal, after, through, selections }: ArrivedQuery,
  control: Control,
): Promise<Arrived[]> {
  const fromNs = selections.reduce((least, { fromNs }) => (fromNs < least ? fromNs : least), endOfTimeNs);
  const answers = await untilSound<ArrivedAnswer>(dispatch, () => {
    const chunks = dispatch.catalog.chunksIn(signal, fromNs, endOfTimeNs).filter((ref) => {
      const { min, max } = arrivalsOf(ref);
      return max > after && min <= through;
    });
    chunks.sort((a, b) => arrivalsOf(a).min - arrivalsOf(b).min);
    const whole = { kind: "arrived", chunks, after, through, selections, control } as const;
    return askThreads(dispatch.shards, whole, control);
  });
  return selections.map(({ rowsMax }, i) => {
    const parts = answers.map(({ found }) => found[i]!);
    return joined(parts, rowsMax, through);
  });
}

/** Parts are told only as far as each of them goes. */
function joined(parts: readonly ArrivedRows[], rowsMax: number, asked: number): Arrived {
  const through = parts.reduce((least, part) => Math.min(least, part.through), asked);
  if (rowsMax === 0) {
    return { rows: new RowList([]), count: parts.reduce((sum, { count }) => sum + count, 0), through };
  }
  const told = parts
    .flatMap(({ rows }) => Array.from(rows.arrival, (arrival, i) => ({ arrival, rows, i })))
    .filter(({ arrival }) => arrival <= through)
    .sort((a, b) => a.arrival - b.arrival);
  const rows = new RowList(told.slice(0, rowsMax));
  const last = told.length > rowsMax ? rows.arrivalAt(rowsMax - 1) : through;
  return { rows, count: rows.length, through: last };
}
