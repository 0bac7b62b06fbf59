/** Text search in plain text columns: by a kernel over a block's bytes where possible, else row by row. */

import { type PlainTextColumn, textOfRows } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import { clearBit, hasBit } from "../vector/bitmap.ts";
import { foldCase, isAscii } from "../vector/case-folding.ts";
import { type TextVector, textAt } from "../vector/text.ts";
import { type BlockFilter, type Checkpoint, checkEveryBytes, type FilterScope } from "./block-filter.ts";
import type { LeafFilter } from "./predicate.ts";
import { TextMatcher } from "./text-matcher.ts";
import { cutRanges, findTextRanges } from "./text-ranges.ts";

/** A block filter that works on the column's bytes; undefined where a value test is as good. */
export function compileTextFilter(
  filter: LeafFilter,
  column: PlainTextColumn,
  scope: FilterScope,
): BlockFilter | undefined {
  if (filter.field.kind === "level") return undefined;
  if (filter.kind === "contains") return compileContainsFilter(filter, column, scope);
  if (filter.kind === "matches") {
    const pattern = new TextMatcher(filter, column, scope);
    return (block) => pattern.match(block);
  }
  return undefined;
}

function compileContainsFilter(
  { text, ignoreCase, field }: LeafFilter & { kind: "contains" },
  column: PlainTextColumn,
  { view, checkpoint }: FilterScope,
): BlockFilter {
  if (text === "") return () => undefined;
  // A lone surrogate has no UTF-8, so no stored text contains it.
  if (!text.isWellFormed()) return (block) => void block.selection.fill(0);
  const wanted = ignoreCase ? foldCase(text) : text;
  if (ignoreCase && !isAscii(wanted)) {
    return filterTexts(column, checkpoint, (row, text) => foldCase(textAt(text, row)).includes(wanted));
  }
  const wantedBytes = Buffer.from(wanted, "utf8");
  const needle = makeNeedle(wantedBytes, ignoreCase);
  const { kernels, scratch } = view.heap;
  const ranges = findTextRanges(wantedBytes, field, view);
  return ({ from, rows, selection }) => {
    checkpoint();
    const found = scratch.uint8(selection.length);
    for (const { from: begin, to: end } of cutRanges(ranges, { from, rows })) {
      const { offsets, bytes } = textOfRows(column, begin, end);
      const texts = { offsets: offsets.subarray(begin, end + 1), bytes };
      kernels.rowsHolding(texts, needle, found.subarray((begin - from) >> 3, (end - from + 7) >> 3));
    }
    kernels.and(selection, found);
  };
}

/** Clears the bits of selected rows that fail; `passes` takes a row and the texts, of which that of the row is in memory. */
function filterTexts(
  column: PlainTextColumn,
  checkpoint: Checkpoint,
  passes: (row: number, text: TextVector) => boolean,
): BlockFilter {
  return ({ from, rows, selection }) => {
    let uncheckedBytes = 0;
    for (let i = 0; i < rows; i++) {
      if (!hasBit(selection, i)) continue;
      const row = from + i;
      const text = textOfRows(column, row, row + 1);
      uncheckedBytes += text.offsets[row + 1]! - text.offsets[row]!;
      if (uncheckedBytes > checkEveryBytes) {
        checkpoint();
        uncheckedBytes = 0;
      }
      if (!passes(row, text)) clearBit(selection, i);
    }
  };
}
