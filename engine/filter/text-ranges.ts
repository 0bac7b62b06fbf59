/** The rows of a chunk that may contain a text, by its filter of plain texts. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Field } from "../plan/filter.ts";
import { ngramBlockRows, type RowRange, toFilteredText } from "../template/plain-text-filter.ts";
import type { RowBlock } from "./block-filter.ts";

/** Ranges of rows outside of which no text of the field contains `text`; all rows where no filter tells. */
export function findTextRanges(text: Uint8Array, field: Field, view: ChunkView): readonly RowRange[] {
  const filter = field.kind === "message" ? view.plainTextFilter() : undefined;
  return filter?.findRanges(toFilteredText(text), view.rows) ?? [{ from: 0, to: view.rows }];
}

/**
 * What of the ranges lies in a block, in pieces that end where blocks of long texts may end: of a column of which each text is
 * read once, one such block is in memory at a time.
 */
export function cutRanges(
  ranges: readonly RowRange[],
  { from, rows }: Pick<RowBlock, "from" | "rows">,
): RowRange[] {
  const pieces: RowRange[] = [];
  for (const range of ranges) {
    const end = Math.min(from + rows, range.to);
    for (let begin = Math.max(from, range.from); begin < end; ) {
      const to = Math.min(end, begin - (begin % ngramBlockRows) + ngramBlockRows);
      pieces.push({ from: begin, to });
      begin = to;
    }
  }
  return pieces;
}
