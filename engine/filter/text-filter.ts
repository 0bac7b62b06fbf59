/** Text search in plain text columns: by a kernel over a block's bytes where possible, else row by row. */

import { type Column, isValid } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import { compilePattern } from "../regexp/pattern.ts";
import { buildAutomaton } from "../regexp/pattern-automaton.ts";
import { toFilteredText } from "../template/plain-text-filter.ts";
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
  if (filter.kind === "contains") return compileContainsFilter(filter, column, scope);
  if (filter.kind === "matches") return compileMatchesFilter(filter, column, scope);
  return undefined;
}

/** Reads each text by an automaton, and by the pattern itself where that reaches its limits. */
function compileMatchesFilter(
  filter: LeafFilter & { kind: "matches" },
  column: TextColumn,
  { checkpoint }: FilterScope,
): BlockFilter {
  const pattern = compilePattern(filter.pattern, filter);
  const automaton = buildAutomaton(filter.pattern, filter);
  const emptyPasses = pattern.test("");
  const { bytes } = column.text;
  return filterTexts(column, checkpoint, (row, from, to) => {
    if (!isValid(column.valid, row)) return emptyPasses;
    const result = automaton?.resultAt(automaton.afterText(automaton.start, bytes, from, to)) ?? "some";
    return result === "some" ? pattern.test(bytes.subarray(from, to)) : result === "all";
  });
}

function compileContainsFilter(
  { text, ignoreCase, field }: LeafFilter & { kind: "contains" },
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
  const wantedBytes = Buffer.from(wanted, "utf8");
  const needle = makeNeedle(wantedBytes, ignoreCase);
  const { offsets, bytes } = column.text;
  const { kernels, scratch } = view.heap;
  const ranges = (field.kind === "message" ? view.plainTextFilter() : undefined)?.findRanges(
    toFilteredText(wantedBytes),
    view.rows,
  ) ?? [{ from: 0, to: view.rows }];
  return ({ from, rows, selection }) => {
    checkpoint();
    const found = scratch.uint8(selection.length);
    for (const range of ranges) {
      const begin = Math.max(from, range.from);
      const end = Math.min(from + rows, range.to);
      if (begin >= end) continue;
      const texts = { offsets: offsets.subarray(begin, end + 1), bytes };
      kernels.rowsHolding(texts, needle, found.subarray((begin - from) >> 3, (end - from + 7) >> 3));
    }
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
