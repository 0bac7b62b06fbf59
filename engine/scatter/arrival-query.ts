/** Finds rows in the order of their arrival over all scan threads. */

import { extentOf } from "../chunk/chunk-ref.ts";
import { endOfTimeNs } from "../model/day-range.ts";
import type { ArrivalQuery } from "../plan/row-query.ts";
import type { ArrivedAnswer, ArrivedRowsPart } from "../scan/arrival-scan.ts";
import { RowList } from "./row-list.ts";
import { askScanThreads, type QueryContext, retryWithoutDamaged } from "./scatter-gather.ts";

/** What was found for one selection. */
export interface Arrived {
  /** The first rows, in the order of arrival; none where the selection only counts. */
  rows: RowList;
  /** Matching rows up to `through`. */
  count: number;
  /**
   * Arrival number up to which no matching row is missing; less than asked for where there are more rows than fit into
   * one answer.
   */
  through: number;
}

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryArrivals(context: QueryContext, query: ArrivalQuery): Promise<Arrived[]> {
  const { control } = context;
  const { signal, after, through, selections } = query;
  const fromNs = selections.reduce((least, { fromNs }) => (fromNs < least ? fromNs : least), endOfTimeNs);
  const range = { signal, fromNs, toNs: endOfTimeNs };
  const answers = await retryWithoutDamaged<ArrivedAnswer>(context, range, (inRange) => {
    const chunks = inRange.filter((ref) => {
      const { arrivalMin, arrivalMax } = extentOf(ref);
      return arrivalMax > after && arrivalMin <= through;
    });
    chunks.sort((a, b) => extentOf(a).arrivalMin - extentOf(b).arrivalMin);
    const task = { kind: "arrived", chunks, after, through, selections, control } as const;
    return askScanThreads(context.threads, task);
  });
  return selections.map(({ rowsMax }, i) => {
    const parts = answers.map(({ found }) => found[i]!);
    return mergeParts(parts, rowsMax, through);
  });
}

/** Merges the threads' parts, up to the arrival number that all of them reached. */
function mergeParts(parts: readonly ArrivedRowsPart[], rowsMax: number, asked: number): Arrived {
  const through = parts.reduce((least, part) => Math.min(least, part.through), asked);
  if (rowsMax === 0) {
    return { rows: new RowList([]), count: parts.reduce((sum, { count }) => sum + count, 0), through };
  }
  const found = parts
    .flatMap(({ rows }) => Array.from(rows.arrival, (arrival, i) => ({ arrival, rows, i })))
    .filter(({ arrival }) => arrival <= through)
    .sort((a, b) => a.arrival - b.arrival);
  const rows = new RowList(found.slice(0, rowsMax));
  const last = found.length > rowsMax ? rows.arrivalAt(rowsMax - 1) : through;
  return { rows, count: rows.length, through: last };
}
