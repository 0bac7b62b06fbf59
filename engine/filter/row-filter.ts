/** Filters that test one row after the other. */

import { type Column, columnText } from "../column/column.ts";
import { clearBit, hasBit } from "../vector/bitmap.ts";
import type { BlockFilter, Checkpoint } from "./block-filter.ts";
import type { ValueTest } from "./predicate.ts";

/** Rows tested between two checkpoints. */
const checkEvery = 1024;

/** Clears the bits of selected rows that fail; `passes` takes a row number of the chunk. */
export function filterRows(passes: (row: number) => boolean, checkpoint?: Checkpoint): BlockFilter {
  return ({ from, rows, selection }) => {
    let tested = 0;
    for (let i = 0; i < rows; i++) {
      // Mostly other filters have cleared most rows already, so eight rows are skipped at a time.
      if (selection[i >> 3] === 0) {
        i |= 7;
        continue;
      }
      if (!hasBit(selection, i)) continue;
      if (tested++ % checkEvery === 0) checkpoint?.();
      if (!passes(from + i)) clearBit(selection, i);
    }
  };
}

/** Tests the text of each selected row. */
export function filterValues(column: Column, test: ValueTest, checkpoint: Checkpoint): BlockFilter {
  return filterRows((row) => test(columnText(column, row)), checkpoint);
}
