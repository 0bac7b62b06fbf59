/** Filters that look at one row after the other. */

import { type Column, columnText } from "../column/column.ts";
import { clearBit, hasBit } from "../vector/bitmap.ts";
import type { BlockFilter, Checkpoint } from "./block-filter.ts";
import type { ValueTest } from "./predicate.ts";

/** Rows tested between two looks at the clock. */
const checkEvery = 1024;

export function filterRows(passes: (row: number) => boolean, checkpoint?: Checkpoint): BlockFilter {
  return ({ from, rows, selection }) => {
    let tested = 0;
    for (let i = 0; i < rows; i++) {
      // Most rows of most blocks fail other tests first: eight are passed over at a time.
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

export function filterValues(column: Column, test: ValueTest, checkpoint: Checkpoint): BlockFilter {
  return filterRows((row) => test(columnText(column, row)), checkpoint);
}
