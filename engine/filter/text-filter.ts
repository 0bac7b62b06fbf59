/** Text search in plain text columns: by a kernel over a block's bytes where possible, else row by row. */

import { isValid, type PlainTextColumn, textOfRows } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import { compilePattern } from "../regexp/pattern.ts";
import { type AutomatonResult, buildAutomaton } from "../regexp/pattern-automaton.ts";
import { literalPrefixOf } from "../regexp/required-texts.ts";
import { toFilteredText } from "../template/plain-text-filter.ts";
import { clearBit, hasBit } from "../vector/bitmap.ts";
import { foldCase, isAscii } from "../vector/case-folding.ts";
import { type TextVector, textAt, toBuffer } from "../vector/text.ts";
import type { BlockFilter, Checkpoint, FilterScope } from "./block-filter.ts";
import type { LeafFilter } from "./predicate.ts";

/** A block filter that works on the column's bytes; undefined where a value test is as good. */
export function compileTextFilter(
  filter: LeafFilter,
  column: PlainTextColumn,
  scope: FilterScope,
): BlockFilter | undefined {
  if (filter.field.kind === "level") return undefined;
  if (filter.kind === "contains") return compileContainsFilter(filter, column, scope);
  if (filter.kind === "matches") return compileMatchesFilter(filter, column, scope);
  return undefined;
}

/** A prefix of a pattern that is worth a search, and a text that is: a shorter one is read byte by byte. */
const prefixBytesMin = 2;
const searchedBytesMin = 128;

/** Reads each text by an automaton, and by the pattern itself where that reaches its limits. */
function compileMatchesFilter(
  filter: LeafFilter & { kind: "matches" },
  column: PlainTextColumn,
  { checkpoint }: FilterScope,
): BlockFilter {
  const pattern = compilePattern(filter.pattern, filter);
  const match = compileTextMatch(filter);
  const emptyPasses = pattern.test("");
  return filterTexts(column, checkpoint, (row, { offsets, bytes }) => {
    if (!isValid(column.valid, row)) return emptyPasses;
    const [from, to] = [offsets[row]!, offsets[row + 1]!];
    const result = match(bytes, from, to);
    return result === "some" ? pattern.test(bytes.subarray(from, to)) : result === "all";
  });
}

type TextMatch = (bytes: Uint8Array, from: number, to: number) => AutomatonResult;

/** Of a longer text only what follows the prefix of a pattern is read byte by byte. */
function compileTextMatch(filter: LeafFilter & { kind: "matches" }): TextMatch {
  const automaton = buildAutomaton(filter.pattern, filter);
  if (automaton === undefined) return () => "some";
  const matchWhole: TextMatch = (bytes, from, to) =>
    automaton.resultAt(automaton.afterText(automaton.start, bytes, from, to));
  const prefix = Buffer.from(literalPrefixOf(filter.pattern, filter), "utf8");
  if (prefix.length < prefixBytesMin) return matchWhole;
  let [source, buffer]: [Uint8Array | undefined, Buffer] = [undefined, prefix];
  return (bytes, from, to) => {
    if (to - from < searchedBytesMin) return matchWhole(bytes, from, to);
    if (bytes !== source) [source, buffer] = [bytes, toBuffer(bytes)];
    return automaton.resultBehind(prefix, buffer, from, to);
  };
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
      const { offsets, bytes } = textOfRows(column, begin, end);
      const texts = { offsets: offsets.subarray(begin, end + 1), bytes };
      kernels.rowsHolding(texts, needle, found.subarray((begin - from) >> 3, (end - from + 7) >> 3));
    }
    kernels.and(selection, found);
  };
}

/** Bytes read between two checkpoints. */
const checkEveryBytes = 256 * 1024;

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
