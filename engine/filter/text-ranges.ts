/** The rows of a chunk that may contain a text, by its filter of plain texts. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Field } from "../plan/filter.ts";
import { type RowRange, toFilteredText } from "../template/plain-text-filter.ts";
import type { RowBlock } from "./block-filter.ts";

/** Ranges of rows outside of which no text of the field contains `text`; all rows where no filter tells. */
export function findTextRanges(text: Uint8Array, field: Field, view: ChunkView): readonly RowRange[] {
  const filter = field.kind === "message" ? view.plainTextFilter() : undefined;
  return filter?.findRanges(toFilteredText(text), view.rows) ?? [{ from: 0, to: view.rows }];
}

/** What of the ranges lies in a block. */
export function cutRanges(
  ranges: readonly RowRange[],
  { from, rows }: Pick<RowBlock, "from" | "rows">,
): RowRange[] {
  return ranges
    .map((range) => ({ from: Math.max(from, range.from), to: Math.min(from + rows, range.to) }))
    .filter((range) => range.from < range.to);
}
