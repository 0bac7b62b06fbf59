/** Text search over plain text columns: whole blocks of bytes at once where it can be, else row by row. */
import { type Bitmap, clearBit, emptyBitmap, hasBit, intersect, setBit } from "./bitmap.ts";
import { type Column, isValid } from "./column.ts";
import { containsFoldedAscii, foldCase, isAscii } from "./fold.ts";
import { compilePattern } from "./pattern.ts";
import type { LeafFilter } from "./predicate.ts";
import type { BlockFilter, Checkpoint } from "./selection.ts";
import { type TextVector, textAt } from "./text.ts";

type TextColumn = Extract<Column, { kind: "text" }>;

/** A block filter for the tests that read bytes; undefined where the value test serves as well. */
export function compileTextFilter(
  filter: LeafFilter,
  column: TextColumn,
  checkpoint: Checkpoint,
): BlockFilter | undefined {
  if (filter.field.kind === "level") return undefined;
  if (filter.kind === "contains") return containsFilter(filter.text, filter.ignoreCase, column, checkpoint);
  if (filter.kind === "matches") {
    const pattern = compilePattern(filter.pattern, { whole: filter.whole });
    const emptyPasses = pattern.test("");
    const { bytes } = column.text;
    return eachText(column, checkpoint, (row, from, to) =>
      isValid(column.valid, row) ? pattern.test(bytes.subarray(from, to)) : emptyPasses,
    );
  }
  return undefined;
}

function containsFilter(
  text: string,
  ignoreCase: boolean,
  column: TextColumn,
  checkpoint: Checkpoint,
): BlockFilter {
  if (text === "") return () => undefined;
  if (!ignoreCase) {
    // A lone surrogate has no UTF-8 and so stands in no stored text.
    if (!text.isWellFormed()) return (block) => void block.selection.fill(0);
    const needle = Buffer.from(text, "utf8");
    return (block) => {
      checkpoint();
      intersect(block.selection, rowsHolding(column.text, needle, block.from, block.rows));
    };
  }
  const folded = foldCase(text);
  if (!isAscii(folded)) {
    return eachText(column, checkpoint, (row) => foldCase(textAt(column.text, row)).includes(folded));
  }
  const needle = Buffer.from(folded, "latin1");
  const { bytes } = column.text;
  return eachText(column, checkpoint, (_, from, to) => containsFoldedAscii(bytes, from, to, needle));
}

/** Rows of a block whose bytes hold the needle: one search over the block's bytes, hits turned into rows. */
function rowsHolding(text: TextVector, needle: Buffer, from: number, rows: number): Bitmap {
  const { offsets } = text;
  const found = emptyBitmap(rows);
  const end = offsets[from + rows]!;
  const haystack = Buffer.from(text.bytes.buffer, text.bytes.byteOffset, end);
  let row = from;
  let at = haystack.indexOf(needle, offsets[from]!);
  while (at >= 0 && at < end) {
    while (offsets[row + 1]! <= at) row++;
    if (at + needle.byteLength <= offsets[row + 1]!) {
      setBit(found, row - from);
      at = haystack.indexOf(needle, offsets[row + 1]!);
    } else {
      // The hit straddles two rows: only the next byte may begin another.
      at = haystack.indexOf(needle, at + 1);
    }
  }
  return found;
}

/** Bytes read between two looks at the clock. */
const checkEveryBytes = 256 * 1024;

function eachText(
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
