/** Selects the rows of a chunk that pass a filter. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { blockRows } from "../limits.ts";
import type { Filter } from "../plan/filter.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import type { BlockFilter, Checkpoint, RowBlock } from "./block-filter.ts";
import { type ConditionCounter, compileConditions } from "./condition-counter.ts";
import { compileFilter, isVectorised, selectRows } from "./selection.ts";

/**
 * The selection of the rows in [from, to) that pass all conditions; bit 0 is the row `from & ~7`. Throws what the
 * checkpoint throws, and Failure "input" for a pattern that is not RE2.
 */
export async function selectMatchingRows(
  residual: readonly Filter[],
  view: ChunkView,
  { from, to }: { from: number; to: number },
  checkpoint: Checkpoint,
  pause: YieldThread,
  counter?: ConditionCounter,
): Promise<Bitmap> {
  const first = from & ~7;
  const selection = selectRows(view.heap, first, from, to);
  const apply = compileConditions(residual, view, checkpoint, counter);
  await applyInTurns({ from: first, rows: to - first, selection }, apply, {
    rowsPerTurn: residual.every(isVectorised) ? view.rows : blockRows,
    pause,
  });
  return selection;
}

/** Which of the rows that a block has selected pass a filter, too: a selection of its own. Throws as `selectMatchingRows`. */
export async function selectPassingRows(
  filter: Filter,
  view: ChunkView,
  block: RowBlock,
  checkpoint: Checkpoint,
  pause: YieldThread,
): Promise<Bitmap> {
  const selection = view.heap.scratch.uint8(block.selection.length);
  selection.set(block.selection);
  const apply = compileFilter(filter, view, checkpoint);
  const rowsPerTurn = isVectorised(filter) ? view.rows : blockRows;
  await applyInTurns({ ...block, selection }, apply, { rowsPerTurn, pause });
  return selection;
}

async function applyInTurns(
  { from, rows, selection }: RowBlock,
  apply: BlockFilter,
  { rowsPerTurn, pause }: { rowsPerTurn: number; pause: YieldThread },
): Promise<void> {
  for (let row = 0; row < rows; row += rowsPerTurn) {
    const length = Math.min(rowsPerTurn, rows - row);
    const at = row >> 3;
    apply({ from: from + row, rows: length, selection: selection.subarray(at, at + ((length + 7) >> 3)) });
    await pause();
  }
}
