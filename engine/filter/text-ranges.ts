/** Searches the rows of a chunk that may contain a text, as its filter of plain texts says. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { type PlainTextColumn, textOfRows } from "../column/column.ts";
import type { Field } from "../plan/filter.ts";
import { ngramBlockRows, type RowRange, toFilteredText } from "../template/plain-text-filter.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import { cutTexts, type TextVector } from "../vector/text.ts";
import type { RowBlock } from "./block-filter.ts";

/** Ranges of rows outside of which no text of the field contains `text`; all rows where no filter tells. */
export function findTextRanges(text: Uint8Array, field: Field, view: ChunkView): readonly RowRange[] {
  const filter = field.kind === "message" ? view.plainTextFilter() : undefined;
  return filter?.findRanges(toFilteredText(text), view.rows) ?? [{ from: 0, to: view.rows }];
}

/**
 * Calls `search` with the texts of a block that lie in the ranges, some thousand rows at a time, with the bits of these rows
 * in `found` and the first of them. Long texts are decompressed in blocks, so the texts of one call are in few of them.
 */
export function searchRanges(
  column: PlainTextColumn,
  ranges: readonly RowRange[],
  { from, rows }: Pick<RowBlock, "from" | "rows">,
  found: Bitmap,
  search: (texts: TextVector, found: Bitmap, firstRow: number) => void,
): void {
  for (const range of ranges) {
    const end = Math.min(from + rows, range.to);
    for (let begin = Math.max(from, range.from); begin < end; ) {
      const to = Math.min(end, begin - (begin % ngramBlockRows) + ngramBlockRows);
      const texts = cutTexts(textOfRows(column, begin, to), begin, to);
      search(texts, found.subarray((begin - from) >> 3, (to - from + 7) >> 3), begin);
      begin = to;
    }
  }
}
