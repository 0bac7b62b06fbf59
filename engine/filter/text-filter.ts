/** Text search in plain text columns: by a kernel over a block's bytes where possible, else row by row. */

import { type Column, isValid } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import { compilePattern } from "../regexp/pattern.ts";
import { clearBit, hasBit } from "../vector/bitmap.ts";
import { foldCase, isAscii } from "../vector/case-folding.ts";
import { textAt } from "../vector/text.ts";
import type { BlockFilter, Checkpoint, FilterScope } from "./block-filter.ts";
import type { LeafFilter } from "./predicate.ts";

type TextColumn = Extract<Column, { kind: "text" }>;

/** A block filter that works on the column's bytes; undefined where a value test is as good. */
export function compileTextFilter(
  filter: LeafFilter,
  column: TextColumn,
  scope: FilterScope,
): BlockFilter | undefined {
  if (filter.field.kind === "level") return undefined;
  if (filter.kind === "contains") return compileContainsFilter(filter.text, filter.ignoreCase, column, scope);
  if (filter.kind === "matches") {
    const pattern = compilePattern(filter.pattern, { whole: filter.whole });
    const emptyPasses = pattern.test("");
    const { bytes } = column.text;
    return filterTexts(column, scope.checkpoint, (row, from, to) =>
      isValid(column.valid, row) ? pattern.test(bytes.subarray(from, to)) : emptyPasses,
    );
  }
  return undefined;
}

function compileContainsFilter(
  text: string,
  ignoreCase: boolean,
  column: TextColumn,
  { view, checkpoint }: FilterScope,
): BlockFilter {
  if (text === "") return () => undefined;
  // A lone surrogate has no UTF-8, so no stored text contains it.
  if (!text.isWellFormed()) return (block) => void block.selection.fill(0);
  const wanted = ignoreCase ? foldCase(text) : text;
  if (ignoreCase && !isAscii(wanted)) {
    return filterTexts(column, checkpoint, (row) => foldCase(textAt(column.text, row)).includes(wanted));
  }
  const needle = makeNeedle(Buffer.from(wanted, "utf8"), ignoreCase);
  const { offsets, bytes } = column.text;
  const { kernels, scratch } = view.heap;
  return ({ from, rows, selection }) => {
    checkpoint();
    const found = scratch.uint8(selection.length);
    kernels.rowsHolding({ offsets: offsets.subarray(from, from + rows + 1), bytes }, needle, found);
    kernels.and(selection, found);
  };
}

/** Bytes read between two checkpoints. */
const checkEveryBytes = 256 * 1024;

/** Clears the bits of selected rows that fail; `passes` takes a row and the range of its bytes. */
function filterTexts(
  column: TextColumn,
  checkpoint: Checkpoint,
  passes: (row: number, from: number, to: number) => boolean,
): BlockFilter {
  const { offsets } = column.text;
  return ({ from, rows, selection }) => {
    let checkedAt = 0;
    for (let i = 0; i < rows; i++) {
      if (!hasBit(selection, i)) continue;
      const row = from + i;
      const start = offsets[row]!;
      const end = offsets[row + 1]!;
      if (end - checkedAt > checkEveryBytes) {
        checkpoint();
        checkedAt = end;
      }
      if (!passes(row, start, end)) clearBit(selection, i);
    }
  };
}
