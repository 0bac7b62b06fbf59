/** Selects the rows of a chunk that pass a filter. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { blockRows } from "../limits.ts";
import type { Filter } from "../plan/filter.ts";
import type { YieldThread } from "../plan/query-control.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import type { Checkpoint } from "./block-filter.ts";
import { type ConditionCounter, compileConditions } from "./condition-counter.ts";
import { isVectorised, selectRows } from "./selection.ts";

/**
 * The selection of the rows in [from, to) that pass all conditions; bit 0 is the row `from & ~7`. Throws what the checkpoint throws,
 * and Failure "input" for a pattern that is not RE2.
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
  const step = residual.every(isVectorised) ? view.rows : blockRows;
  for (let row = first; row < to; row += step) {
    const rows = Math.min(step, to - row);
    const at = (row - first) >> 3;
    apply({ from: row, rows, selection: selection.subarray(at, at + ((rows + 7) >> 3)) });
    await pause();
  }
  return selection;
}
