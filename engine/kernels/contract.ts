/**
 * Work on whole vectors. Vectors lie in an arena's memory and results go there; what is small (needles, ids, tables) may lie
 * anywhere. Two implementations keep this contract: SIMD over an arena (`openKernels`), and plain TypeScript over any
 * memory (`plainKernels`), which is the truth that the other is tested against.
 *
 * Nothing is checked: lengths fit, codes are below their cardinality (`largestCode` tells, once, when a column is
 * decoded). Bitmaps have a bit a row, least significant bit first, bits past the last row zero. A selection is a bitmap
 * of the rows to take, null for all of them.
 */
import type { Needle } from "./needle.ts";

type AnyBuffer = ArrayBufferLike;

export type Bits<B extends AnyBuffer> = Uint8Array<B>;
export type CodeVector<B extends AnyBuffer> = Uint8Array<B> | Uint16Array<B> | Uint32Array<B>;

/** Rows of text: row i is bytes[offsets[i], offsets[i + 1]); the first offset need not be 0. */
export interface Text<B extends AnyBuffer> {
  offsets: Uint32Array<B>;
  bytes: Uint8Array<B>;
}

/** low <= x <= high, an open end without its bound. */
export interface NumberRange {
  low: number;
  high: number;
  lowOpen: boolean;
  highOpen: boolean;
}

export interface Kernels<B extends AnyBuffer> {
  /**
   * Writes the places in bytes[from, to) where the needle begins, ascending, overlapping ones too, until `hits` is full.
   * @returns how many; when `hits` is full, go on from the last place + 1
   */
  findHits(bytes: Uint8Array<B>, from: number, to: number, needle: Needle, hits: Uint32Array<B>): number;
  /** Sets the bits of the rows whose text holds the needle, clears the others. @returns how many rows hold it */
  rowsHolding(text: Text<B>, needle: Needle, found: Bits<B>): number;
  countHolding(text: Text<B>, needle: Needle): number;

  /** Rows with that code. */
  equalCodes(codes: CodeVector<B>, code: number, found: Bits<B>): void;
  /** Rows with any other code. */
  unequalCodes(codes: CodeVector<B>, code: number, found: Bits<B>): void;
  /** Rows with low <= code <= high. */
  codesBetween(codes: CodeVector<B>, low: number, high: number, found: Bits<B>): void;
  /** Rows whose code has another entry than 0 in the table, which has one for every code. */
  codesInTable(codes: CodeVector<B>, table: Uint8Array, found: Bits<B>): void;
  /** 0 for an empty vector. */
  largestCode(codes: CodeVector<B>): number;

  /** Rows whose value is valid and lies in the range; a NaN lies in none. */
  numbersInRange(values: Float64Array<B>, range: NumberRange, valid: Bits<B> | null, found: Bits<B>): void;

  /** Rows whose id, of as many bytes as `id`, is that one. */
  equalIds(ids: Uint8Array<B>, id: Uint8Array, found: Bits<B>): void;
  /** The first row at or after `from` with that id, or -1. */
  findId(ids: Uint8Array<B>, id: Uint8Array, from: number): number;

  /** The first of some membership filters (template/longruns.ts) at or after `from` that may hold a hash, or -1. */
  findFilter(filters: Uint8Array<B>, hash: number, from: number): number;

  /** a := a and b */
  and(a: Bits<B>, b: Bits<B>): void;
  /** a := a or b */
  or(a: Bits<B>, b: Bits<B>): void;
  /** a := a without b */
  andNot(a: Bits<B>, b: Bits<B>): void;
  /** a := the rows that a leaves out */
  not(a: Bits<B>, rows: number): void;
  countBits(a: Bits<B>): number;
  anyBit(a: Bits<B>): boolean;
  /**
   * Writes the numbers of the set rows, ascending, from row `from` on, until `out` is full.
   * @returns how many; when `out` is full, go on from the last row + 1
   */
  expand(a: Bits<B>, from: number, out: Uint32Array<B>): number;

  /** The number of whole widths that each time lies behind `start`, cut to [0, 2^32). Times that ascend have `bucketBounds`. */
  bucketsOf(times: Float64Array<B>, start: number, width: number, buckets: Uint32Array<B>): void;

  /** One group number a row: a × cardinalityB + b, which must fit the width of `groups`. */
  combineCodes(a: CodeVector<B>, b: CodeVector<B>, cardinalityB: number, groups: CodeVector<B>): void;
  /** Adds the number of rows of each group to its counter; there is a counter for every group. */
  countGroups(groups: CodeVector<B>, selection: Bits<B> | null, counts: Uint32Array<B>): void;
  /**
   * Counts codes in runs of rows: run i is rows [bounds[i], bounds[i + 1]), its counters are
   * counts[i × cardinality, (i + 1) × cardinality). For buckets of ascending times it spares the group numbers.
   */
  countRuns(
    codes: CodeVector<B>,
    bounds: Uint32Array,
    cardinality: number,
    selection: Bits<B> | null,
    counts: Uint32Array<B>,
  ): void;
  /** raised := codes + base, which must fit 32 bits. */
  raiseCodes(codes: CodeVector<B>, base: number, raised: Uint32Array<B>): void;
  /** Sets marks[group × codeCount + code] to 1 for the group and the code of each row. */
  markPairs(
    groups: CodeVector<B>,
    codes: CodeVector<B>,
    selection: Bits<B> | null,
    codeCount: number,
    marks: Uint8Array<B>,
  ): void;
  /** totals += counts, for sums that 32 bits do not hold. */
  addCounts(counts: Uint32Array<B>, totals: Float64Array<B>): void;

  /** Adds the values of each group to its sum; the order of the additions, and so the rounding, is not defined. */
  sumGroups(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    sums: Float64Array<B>,
  ): void;
  /** Lowers each group's entry to the least of its values; entries begin as Infinity. NaN is passed over. */
  leastOfGroups(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    least: Float64Array<B>,
  ): void;
  /** Raises each group's entry to the greatest of its values; entries begin as -Infinity. NaN is passed over. */
  greatestOfGroups(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    greatest: Float64Array<B>,
  ): void;

  /** Writes each row's value to the place that `next` has for its group, which is counted up: so a group's values keep their order. */
  orderByGroup(
    groups: CodeVector<B>,
    values: Float64Array<B>,
    selection: Bits<B> | null,
    next: Uint32Array<B>,
    ordered: Float64Array<B>,
  ): void;
  /**
   * The number at a rank of the values [from, to), one or more and none of them NaN, which change their order: 0 is the rank of the
   * least, and a rank that is not whole lies between two in proportion. Whether it is -0 or 0 is not defined.
   */
  quantileOf(values: Float64Array<B>, from: number, to: number, rank: number): number;

  /** The sum of all selected rows, added in no defined order. */
  sum(values: Float64Array<B>, selection: Bits<B> | null): number;
  /** Infinity where no row has a value; NaN is passed over. */
  least(values: Float64Array<B>, selection: Bits<B> | null): number;
  /** -Infinity where no row has a value; NaN is passed over. */
  greatest(values: Float64Array<B>, selection: Bits<B> | null): number;
}
