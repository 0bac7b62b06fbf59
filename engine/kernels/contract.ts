/**
 * The kernels' contract: operations on whole vectors. Vectors lie in an arena's memory, and results are written there;
 * small operands (needles, ids, tables) may lie anywhere. There are two implementations: SIMD over an arena
 * (`openKernels`), and plain TypeScript over any memory (`plainKernels`), which is the reference that the other is
 * tested against.
 *
 * Kernels check nothing. Callers guarantee that lengths fit and that codes are below their cardinality (`largestCode`
 * verifies this once, when a column is decoded). Bitmaps have a bit per row, least significant bit first, and the bits
 * past the last row are zero. A selection is a bitmap of the rows to read, or null for all rows.
 */
import type { AutomatonKernels } from "./automaton.ts";
import type { DecodingKernels } from "./decoding.ts";
import type { Needle } from "./needle.ts";
import type { SlotSearchKernels } from "./slot-search.ts";
import type { AnyBuffer, Bits, CodeVector, Text } from "./vectors.ts";

/** low <= x <= high; an open end excludes its bound. */
export interface NumberRange {
  low: number;
  high: number;
  lowOpen: boolean;
  highOpen: boolean;
}

export interface Kernels<B extends AnyBuffer>
  extends DecodingKernels<B>,
    SlotSearchKernels<B>,
    AutomatonKernels<B> {
  /**
   * Writes the positions in bytes[from, to) where the needle begins, ascending, overlapping ones too, until `hits` is
   * full.
   * @returns how many were written; when `hits` is full, continue at the last position + 1
   */
  findHits(bytes: Uint8Array<B>, from: number, to: number, needle: Needle, hits: Uint32Array<B>): number;
  /**
   * Sets the bits of the rows whose text contains the needle and clears the others. @returns how many rows contain it
   */
  rowsHolding(text: Text<B>, needle: Needle, found: Bits<B>): number;
  /** How many rows contain the needle. */
  countHolding(text: Text<B>, needle: Needle): number;
  /** Writes the xxHash64 (seed 0) of each text as two halves: low, high, low, high … */
  hashTexts(text: Text<B>, hashes: Uint32Array<B>): void;

  /** found := the rows with that code */
  equalCodes(codes: CodeVector<B>, code: number, found: Bits<B>): void;
  /** found := the rows with any other code */
  unequalCodes(codes: CodeVector<B>, code: number, found: Bits<B>): void;
  /** found := the rows with low <= code <= high */
  codesBetween(codes: CodeVector<B>, low: number, high: number, found: Bits<B>): void;
  /** found := the rows whose code has an entry other than 0 in the table, which has an entry for every code */
  codesInTable(codes: CodeVector<B>, table: Uint8Array, found: Bits<B>): void;
  /** The largest code; 0 for an empty vector. */
  largestCode(codes: CodeVector<B>): number;

  /** found := the rows whose value is valid and in the range; NaN is in no range */
  numbersInRange(values: Float64Array<B>, range: NumberRange, valid: Bits<B> | null, found: Bits<B>): void;

  /** found := the rows whose id is `id`; all ids have its length */
  equalIds(ids: Uint8Array<B>, id: Uint8Array, found: Bits<B>): void;
  /** The first row at or after `from` with that id, or -1. */
  findId(ids: Uint8Array<B>, id: Uint8Array, from: number): number;

  /**
   * The first membership filter at or after number `from` that may contain a hash, or -1. `filters`: u32 count, for
   * each filter a u32 where it ends after this list (bytes), then the filters (see template/token-filter.ts).
   */
  findFilter(filters: Uint8Array<B>, hash: number, from: number): number;

  /** a := a and b */
  and(a: Bits<B>, b: Bits<B>): void;
  /** a := a or b */
  or(a: Bits<B>, b: Bits<B>): void;
  /** a := a without b */
  andNot(a: Bits<B>, b: Bits<B>): void;
  /** a := the rows that are not in a */
  not(a: Bits<B>, rows: number): void;
  countBits(a: Bits<B>): number;
  anyBit(a: Bits<B>): boolean;
  /**
   * Writes the numbers of the rows whose bits are set, ascending, from row `from` on, until `out` is full.
   * @returns how many were written; when `out` is full, continue at the last row + 1
   */
  expand(a: Bits<B>, from: number, out: Uint32Array<B>): number;

  /**
   * buckets[row] := the number of whole widths from `start` to the time, clamped to [0, 2^32). For ascending times see
   * `findBucketBounds`.
   */
  bucketsOf(times: Float64Array<B>, start: number, width: number, buckets: Uint32Array<B>): void;

  /** groups[row] := a × cardinalityB + b, which must fit the width of `groups`. */
  combineCodes(a: CodeVector<B>, b: CodeVector<B>, cardinalityB: number, groups: CodeVector<B>): void;
  /** Adds the number of selected rows of each group to its counter. There is a counter for every group. */
  countGroups(groups: CodeVector<B>, selection: Bits<B> | null, counts: Uint32Array<B>): void;
  /**
   * Counts codes in runs of rows. Run i is rows [bounds[i], bounds[i + 1]), and its counters are counts[i ×
   * cardinality, (i + 1) × cardinality). Where the runs are buckets of ascending times, no group numbers need to be
   * computed.
   */
  countRuns(
    codes: CodeVector<B>,
    bounds: Uint32Array,
    cardinality: number,
    selection: Bits<B> | null,
    counts: Uint32Array<B>,
  ): void;
  /** raised := codes + base, which must fit 32 bits */
  raiseCodes(codes: CodeVector<B>, base: number, raised: Uint32Array<B>): void;
  /** Sets marks[group × codeCount + code] to 1 for the group and the code of each selected row. */
  markPairs(
    groups: CodeVector<B>,
    codes: CodeVector<B>,
    selection: Bits<B> | null,
    codeCount: number,
    marks: Uint8Array<B>,
  ): void;
  /** totals += counts; the totals may exceed 32 bits */
  addCounts(counts: Uint32Array<B>, totals: Float64Array<B>): void;

  /** Adds the values of each group to its sum. The order of the additions, and so the rounding, is not defined. */
  sumGroups(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    sums: Float64Array<B>,
  ): void;
  /** Lowers each group's entry to the least of its values. Entries begin as Infinity; NaN is ignored. */
  leastOfGroups(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    least: Float64Array<B>,
  ): void;
  /** Raises each group's entry to the greatest of its values. Entries begin as -Infinity; NaN is ignored. */
  greatestOfGroups(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    greatest: Float64Array<B>,
  ): void;

  /**
   * Writes each selected row's value to ordered[next[group]] and increments next[group]. The values of a group keep
   * their order.
   */
  orderByGroup(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    next: Uint32Array<B>,
    ordered: Float64Array<B>,
  ): void;
  /**
   * The value at a rank of values[from, to), which must be one or more and none of them NaN. Reorders them. Rank 0 is
   * the least value; a fractional rank is interpolated between its two neighbours. Whether a zero is -0 or 0 is not
   * defined.
   */
  quantileOf(values: Float64Array<B>, from: number, to: number, rank: number): number;

  /** The sum of the selected values. The order of the additions is not defined. */
  sum(values: Float64Array<B>, selection: Bits<B> | null): number;
  /** The least selected value; Infinity where there is none. NaN is ignored. */
  least(values: Float64Array<B>, selection: Bits<B> | null): number;
  /** The greatest selected value; -Infinity where there is none. NaN is ignored. */
  greatest(values: Float64Array<B>, selection: Bits<B> | null): number;
}
