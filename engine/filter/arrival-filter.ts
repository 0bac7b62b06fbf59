/** Selects rows by their arrival numbers. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { type Bitmap, hasBit, setBit } from "../vector/bitmap.ts";
import type { BlockFilter } from "./block-filter.ts";
import { filterRows } from "./row-filter.ts";

/** Above it a bitmap of all numbers between the least and the greatest takes longer than a search for each row. */
const bitmapNumbersMax = 1 << 22;

/** False where no row of the chunk has one of the numbers, which ascend. */
export function mayHaveArrived(numbers: Float64Array, { arrivalRange: { min, max } }: ChunkView): boolean {
  return numbers[lowerBound(numbers, min)]! <= max;
}

/** Passes the rows of a chunk that have one of the arrival numbers, which ascend. */
export function compileArrivalFilter(numbers: Float64Array, view: ChunkView): BlockFilter {
  const { min, max } = view.arrivalRange;
  const own = numbers.subarray(lowerBound(numbers, min), lowerBound(numbers, max + 1));
  const { arrival } = view;
  if (max - min < bitmapNumbersMax) {
    const wanted = toBitmap(own, min, max);
    return filterRows((row) => hasBit(wanted, arrival[row]! - min));
  }
  return filterRows((row) => own[lowerBound(own, arrival[row]!)] === arrival[row]);
}

function toBitmap(numbers: Float64Array, min: number, max: number): Bitmap {
  const wanted = new Uint8Array((max - min + 8) >> 3);
  for (const number of numbers) setBit(wanted, number - min);
  return wanted;
}
