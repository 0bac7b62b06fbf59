/** The kernels in plain TypeScript, over vectors in any memory: the reference implementation of the contract. */
import { hasBit, intersect, isEmptyBitmap, setBit, subtract, unite } from "../vector/bitmap.ts";
import { foldedByte } from "../vector/case-folding.ts";
import { mayContainIn } from "../vector/membership-filter.ts";
import { interpolate } from "../vector/quantile-sketch.ts";
import { hash64Words } from "../vector/xxhash.ts";
import { plainAutomatonKernels } from "./automaton.ts";
import type { Kernels, NumberRange } from "./contract.ts";
import type { Needle } from "./needle.ts";
import { plainDecodingKernels } from "./plain-decoding.ts";
import { makePlainSlotSearch } from "./plain-slot-search.ts";
import type { Bits, Text } from "./vectors.ts";

type Any = ArrayBufferLike;

export const plainKernels: Kernels<Any> = {
  ...plainDecodingKernels,
  ...plainAutomatonKernels,
  ...makePlainSlotSearch((text, needle) => findNextHit(text, 0, text.byteLength, needle) >= 0),

  findHits,
  rowsHolding: findRows,
  countHolding: (text, needle) => forEachRowContaining(text, needle, () => undefined),
  hashTexts({ offsets, bytes }, hashes) {
    for (let i = 0; i + 1 < offsets.length; i++) {
      const { low, high } = hash64Words(bytes, offsets[i]!, offsets[i + 1]!);
      hashes[i * 2] = low;
      hashes[i * 2 + 1] = high;
    }
  },

  equalCodes: (codes, code, found) => fillBits(codes.length, found, (row) => codes[row] === code),
  unequalCodes: (codes, code, found) => fillBits(codes.length, found, (row) => codes[row] !== code),
  codesBetween: (codes, low, high, found) =>
    fillBits(codes.length, found, (row) => codes[row]! >= low && codes[row]! <= high),
  codesInTable: (codes, table, found) => fillBits(codes.length, found, (row) => table[codes[row]!] !== 0),
  largestCode(codes) {
    let most = 0;
    for (let row = 0; row < codes.length; row++) if (codes[row]! > most) most = codes[row]!;
    return most;
  },

  numbersInRange(values, range, valid, found) {
    const passes = makeRangeTest(range);
    fillBits(values.length, found, (row) => passes(values[row]!) && (valid === null || hasBit(valid, row)));
  },

  equalIds(ids, id, found) {
    fillBits(ids.byteLength / id.byteLength, found, (row) => equalsId(ids, row, id));
  },
  findId(ids, id, from) {
    const rows = ids.byteLength / id.byteLength;
    for (let row = from; row < rows; row++) if (equalsId(ids, row, id)) return row;
    return -1;
  },

  findFilter(filters, hash, from) {
    const words = new Uint32Array(filters.buffer, filters.byteOffset, filters.byteLength >> 2);
    const count = words[0]!;
    for (let filter = from; filter < count; filter++) {
      const start = filter === 0 ? 0 : words[filter]! >> 2;
      const end = words[filter + 1]! >> 2;
      if (mayContainIn(words.subarray(count + 1), start, end, hash)) return filter;
    }
    return -1;
  },

  and: intersect,
  or: unite,
  andNot: subtract,
  not(a, rows) {
    for (let i = 0; i < a.length; i++) a[i] = ~a[i]!;
    const tail = rows & 7;
    if (tail !== 0) a[a.length - 1] = a[a.length - 1]! & ((1 << tail) - 1);
  },
  countBits(a) {
    let count = 0;
    for (let i = 0; i < a.length; i++) for (let rest = a[i]!; rest !== 0; rest &= rest - 1) count++;
    return count;
  },
  anyBit: (a) => !isEmptyBitmap(a),
  expand(a, from, out) {
    let count = 0;
    const rows = a.byteLength * 8;
    for (let row = from; row < rows && count < out.length; row++) if (hasBit(a, row)) out[count++] = row;
    return count;
  },

  bucketsOf(times, start, width, buckets) {
    for (let row = 0; row < times.length; row++) {
      const bucket = Math.floor((times[row]! - start) / width);
      buckets[row] = bucket > 0 ? Math.min(bucket, 0xffff_ffff) : 0;
    }
  },

  combineCodes(a, b, cardinalityB, groups) {
    for (let row = 0; row < a.length; row++) groups[row] = a[row]! * cardinalityB + b[row]!;
  },
  countGroups(groups, selection, counts) {
    forEachSelected(groups.length, selection, (row) => {
      counts[groups[row]!] = counts[groups[row]!]! + 1;
    });
  },
  countRuns(codes, bounds, cardinality, selection, counts) {
    for (let run = 0; run + 1 < bounds.length; run++) {
      const base = run * cardinality;
      for (let row = bounds[run]!; row < bounds[run + 1]!; row++) {
        if (selection !== null && !hasBit(selection, row)) continue;
        const counter = base + codes[row]!;
        counts[counter] = counts[counter]! + 1;
      }
    }
  },
  raiseCodes(codes, base, raised) {
    for (let row = 0; row < codes.length; row++) raised[row] = codes[row]! + base;
  },
  markPairs(groups, codes, selection, codeCount, marks) {
    forEachSelected(codes.length, selection, (row) => {
      marks[groups[row]! * codeCount + codes[row]!] = 1;
    });
  },
  addCounts(counts, totals) {
    for (let group = 0; group < counts.length; group++) totals[group] = totals[group]! + counts[group]!;
  },

  sumGroups(groups, values, selection, sums) {
    forEachSelected(values.length, selection, (row) => {
      sums[groups[row]!] = sums[groups[row]!]! + values[row]!;
    });
  },
  leastOfGroups(groups, values, selection, least) {
    forEachSelected(values.length, selection, (row) => {
      if (values[row]! < least[groups[row]!]!) least[groups[row]!] = values[row]!;
    });
  },
  greatestOfGroups(groups, values, selection, greatest) {
    forEachSelected(values.length, selection, (row) => {
      if (values[row]! > greatest[groups[row]!]!) greatest[groups[row]!] = values[row]!;
    });
  },

  orderByGroup(groups, values, selection, next, ordered) {
    forEachSelected(values.length, selection, (row) => {
      const group = groups[row]!;
      ordered[next[group]!] = values[row]!;
      next[group] = next[group]! + 1;
    });
  },
  quantileOf(values, from, to, rank) {
    const low = Math.floor(rank);
    selectRank(values, from, to, from + low);
    return interpolateRank(values, from + low, to, rank - low);
  },

  sum(values, selection) {
    let sum = 0;
    forEachSelected(values.length, selection, (row) => {
      sum += values[row]!;
    });
    return sum;
  },
  least(values, selection) {
    let least = Number.POSITIVE_INFINITY;
    forEachSelected(values.length, selection, (row) => {
      if (values[row]! < least) least = values[row]!;
    });
    return least;
  },
  greatest(values, selection) {
    let greatest = Number.NEGATIVE_INFINITY;
    forEachSelected(values.length, selection, (row) => {
      if (values[row]! > greatest) greatest = values[row]!;
    });
    return greatest;
  },
};

function findHits(bytes: Uint8Array, from: number, to: number, needle: Needle, hits: Uint32Array): number {
  let count = 0;
  for (let at = findNextHit(bytes, from, to, needle); at >= 0 && count < hits.length; ) {
    hits[count++] = at;
    at = findNextHit(bytes, at + 1, to, needle);
  }
  return count;
}

function findRows(text: Text<Any>, needle: Needle, found: Bits<Any>): number {
  found.fill(0);
  return forEachRowContaining(text, needle, (row) => setBit(found, row));
}

/**
 * One search over the bytes of all rows; hits that straddle two rows do not count. Returns how many rows contain the
 * needle.
 */
function forEachRowContaining(
  { bytes, offsets }: Text<Any>,
  needle: Needle,
  visit: (row: number) => void,
): number {
  const rows = offsets.length - 1;
  const to = offsets[rows]!;
  let count = 0;
  let row = 0;
  let at = findNextHit(bytes, offsets[0]!, to, needle);
  while (at >= 0) {
    while (offsets[row + 1]! <= at) row++;
    const end = offsets[row + 1]!;
    if (at + needle.bytes.byteLength <= end) {
      visit(row);
      count++;
      at = findNextHit(bytes, end, to, needle);
    } else {
      at = findNextHit(bytes, at + 1, to, needle);
    }
  }
  return count;
}

/** The first position in bytes[from, to) where the needle begins, or -1. */
function findNextHit(bytes: Uint8Array, from: number, to: number, needle: Needle): number {
  if (to - from < needle.bytes.byteLength) return -1;
  if (!needle.ignoreCase) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, to).indexOf(needle.bytes, from);
  }
  return findFoldedHit(bytes, from, to, needle.bytes);
}

function findFoldedHit(bytes: Uint8Array, from: number, to: number, needle: Uint8Array): number {
  const last = to - needle.byteLength;
  for (let at = from; at <= last; at++) {
    let i = 0;
    while (i < needle.byteLength && foldedByte[bytes[at + i]!] === needle[i]) i++;
    if (i === needle.byteLength) return at;
  }
  return -1;
}

function makeRangeTest({ low, high, lowOpen, highOpen }: NumberRange): (value: number) => boolean {
  if (lowOpen && highOpen) return (value) => value > low && value < high;
  if (lowOpen) return (value) => value > low && value <= high;
  if (highOpen) return (value) => value >= low && value < high;
  return (value) => value >= low && value <= high;
}

function equalsId(ids: Uint8Array, row: number, id: Uint8Array): boolean {
  const at = row * id.byteLength;
  for (let i = 0; i < id.byteLength; i++) if (ids[at + i] !== id[i]) return false;
  return true;
}

function fillBits(rows: number, found: Bits<Any>, passes: (row: number) => boolean): void {
  found.fill(0);
  for (let row = 0; row < rows; row++) if (passes(row)) setBit(found, row);
}

function forEachSelected(rows: number, selection: Bits<Any> | null, visit: (row: number) => void): void {
  for (let row = 0; row < rows; row++) if (selection === null || hasBit(selection, row)) visit(row);
}

/**
 * Interpolates between values[low] and the next greater value. Selection has put nothing less than values[low] after
 * it.
 */
function interpolateRank(values: Float64Array, low: number, to: number, share: number): number {
  if (share === 0) return values[low]!;
  let upper = Number.POSITIVE_INFINITY;
  for (let at = low + 1; at < to; at++) if (values[at]! < upper) upper = values[at]!;
  return interpolate(values[low]!, upper, share);
}

/** Ranges up to this length are sorted by insertion. */
const insertionSortMax = 16;

/**
 * Partially sorts values[from, to): `rank` gets the value that sorting would put there, with no greater value before it
 * and no lesser one after it (Hoare's selection).
 */
function selectRank(values: Float64Array, from: number, to: number, rank: number): void {
  let low = from;
  let high = to - 1;
  while (high - low >= insertionSortMax) {
    const pivot = medianOfThree(values[low]!, values[(low + high) >> 1]!, values[high]!);
    let i = low;
    let j = high;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const swapped = values[i]!;
      values[i++] = values[j]!;
      values[j--] = swapped;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return;
  }
  for (let i = low + 1; i <= high; i++) {
    const moved = values[i]!;
    let j = i;
    for (; j > low && values[j - 1]! > moved; j--) values[j] = values[j - 1]!;
    values[j] = moved;
  }
}

function medianOfThree(a: number, b: number, c: number): number {
  if (a < b) return b < c ? b : Math.max(a, c);
  return a < c ? a : Math.max(b, c);
}
