/** Reads the matching rows of one chunk into buffers of Arrow's layout. */

import type { ChunkRef } from "../chunk/chunk-ref.ts";
import type { ChunkAccess } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { RowState } from "../filter/row-state.ts";
import { compileRowSteps, splitSteps } from "../filter/row-steps.ts";
import { compileFilter, selectRows } from "../filter/selection.ts";
import { dayStartNs } from "../model/day.ts";
import { clampToDay } from "../model/day-range.ts";
import type { Filter, RangeSelection } from "../plan/filter.ts";
import { checkCaps, checkControl, type QueryControl } from "../plan/query-control.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { hasBit } from "../vector/bitmap.ts";
import { TextBuilder, type TextVector } from "../vector/text.ts";

/** Asks for the matching rows of one chunk, in order of time. */
export interface ReadTask extends RangeSelection {
  kind: "read";
  chunk: ChunkRef;
  control: QueryControl;
}

/** The rows, in buffers of Arrow's layout. */
export interface ReadAnswer {
  rows: number;
  timeNs: BigInt64Array;
  level: TextVector;
  message: TextVector;
  /** Offsets (rows + 1) of each row's attributes in `keys` and `values`. */
  pairOffsets: Int32Array;
  keys: TextVector;
  values: TextVector;
}

export function readChunk(task: ReadTask, { open }: ChunkAccess): ReadAnswer {
  const view = open(task.chunk);
  try {
    return readView(task, view);
  } finally {
    view.close();
  }
}

function readView(task: ReadTask, view: ChunkView): ReadAnswer {
  const draft = { times: [] as bigint[], level: new TextBuilder(), message: new TextBuilder(), pairs: [0] };
  const keys = new TextBuilder();
  const values = new TextBuilder();
  const { filters, rest } = splitSteps(task.steps);
  const passes = compileRowSteps(rest);
  const start = dayStartNs(view.day);
  for (const row of matchingRows(task, view, filters)) {
    const state = new RowState(view, row);
    if (!passes(state)) continue;
    draft.times.push(start + BigInt(view.timeNs[row]!));
    draft.level.push(state.level);
    draft.message.push(state.message);
    for (const [key, value] of state.attributes) {
      keys.push(key);
      values.push(value);
    }
    draft.pairs.push(keys.rows);
    if (draft.times.length % 1024 === 0) {
      checkControl(task.control);
      const stateBytes = draft.message.byteLength + values.byteLength;
      checkCaps(task.control, { columnBytes: view.decodedBytes, stateBytes, scannedRows: 0 });
    }
  }
  return {
    rows: draft.times.length,
    timeNs: BigInt64Array.from(draft.times),
    level: draft.level.finishExact(),
    message: draft.message.finishExact(),
    pairOffsets: Int32Array.from(draft.pairs),
    keys: keys.finishExact(),
    values: values.finishExact(),
  };
}

function matchingRows(task: ReadTask, view: ChunkView, filters: Filter[]): number[] {
  const filter: Filter = { kind: "and", of: filters };
  if (matchFromStatistics(filter, view) === "none") return [];
  const range = clampToDay(task.fromNs, task.toNs, view.day);
  const from = lowerBound(view.timeNs, range.from);
  const to = lowerBound(view.timeNs, range.to);
  if (from >= to) return [];
  const first = from & ~7;
  const selection = selectRows(view.heap, first, from, to);
  compileFilter(filter, view, () => checkControl(task.control))({ from: first, rows: to - first, selection });
  const matching: number[] = [];
  for (let row = from; row < to; row++) if (hasBit(selection, row - first)) matching.push(row);
  return matching;
}
