/** Text search in plain text columns: by a kernel over a block's bytes where possible, else row by row. */

import { type PlainTextColumn, textOfRows } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import { foldCase, isAscii } from "../vector/case-folding.ts";
import { textAt } from "../vector/text.ts";
import {
  type BlockFilter,
  type Checkpoint,
  checkpointByBytes,
  type FilterScope,
  keepFoundRows,
} from "./block-filter.ts";
import type { LeafFilter } from "./predicate.ts";
import { filterRows } from "./row-filter.ts";
import { TextMatcher } from "./text-matcher.ts";
import { findTextRanges, searchRanges } from "./text-ranges.ts";

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
  if (ignoreCase && !isAscii(wanted)) return compileFoldedFilter(wanted, column, checkpoint);
  const wantedBytes = Buffer.from(wanted, "utf8");
  const needle = makeNeedle(wantedBytes, ignoreCase);
  const { heap } = view;
  const ranges = findTextRanges(wantedBytes, field, view);
  return keepFoundRows(heap, (from, rows, found) => {
    checkpoint();
    searchRanges(column, ranges, { from, rows }, found, (texts, ofTexts) => {
      heap.kernels.rowsHolding(texts, needle, ofTexts);
    });
  });
}

/** Searches for a text in any case row by row: the kernel folds the case of ASCII letters only. */
function compileFoldedFilter(wanted: string, column: PlainTextColumn, checkpoint: Checkpoint): BlockFilter {
  const countBytes = checkpointByBytes(checkpoint);
  return filterRows((row) => {
    const texts = textOfRows(column, row, row + 1);
    countBytes(texts.offsets[row + 1]! - texts.offsets[row]!);
    return foldCase(textAt(texts, row)).includes(wanted);
  });
}
