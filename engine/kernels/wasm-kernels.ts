/** The kernels in WebAssembly: SIMD over the columns of one arena, for one thread. */
import assert from "node:assert/strict";
import { makeBlockMask } from "../vector/membership-filter.ts";
import { type Arena, reservedBytes } from "./arena.ts";
import type { Kernels } from "./contract.ts";
import { plainKernels } from "./plain.ts";
import type { Bits, CodeVector } from "./vectors.ts";
import { type AutomatonExports, makeAutomatonKernels } from "./wasm-automaton.ts";
import { type DecodingExports, makeDecodingKernels } from "./wasm-decoding.ts";
import { makeSlotSearchKernels, type SlotSearchExports } from "./wasm-slot-search.ts";
import { makeTextKernels, NeedlePlace, type TextExports } from "./wasm-text.ts";
import { type Global, instantiateKernels } from "./webassembly.ts";

type Shared = SharedArrayBuffer;

/**
 * What `assembly/` exports. Addresses and lengths are unsigned, widths are bytes per code, and a selection of 0 means
 * all rows.
 */
interface Exports extends TextExports, DecodingExports, SlotSearchExports, AutomatonExports {
  scratchBytes: Global;
  operandBytesMax: Global;
  between(
    codes: number,
    width: number,
    rows: number,
    low: number,
    span: number,
    flip: boolean,
    found: number,
  ): void;
  member(codes: number, width: number, rows: number, found: number): void;
  largest(codes: number, width: number, rows: number): number;
  inRange(
    values: number,
    rows: number,
    low: number,
    high: number,
    lowOpen: boolean,
    highOpen: boolean,
    found: number,
  ): void;
  equalIds(ids: number, rows: number, width: number, found: number): void;
  findId(ids: number, from: number, rows: number, width: number): number;
  findFilter(filters: number, from: number, hash: number): number;
  and(a: number, b: number, bytes: number): void;
  or(a: number, b: number, bytes: number): void;
  andNot(a: number, b: number, bytes: number): void;
  not(a: number, rows: number): void;
  count(a: number, bytes: number): number;
  any(a: number, bytes: number): number;
  expand(a: number, from: number, rows: number, out: number, outMax: number): number;
  bucketsOf(times: number, rows: number, start: number, width: number, buckets: number): void;
  combine(
    a: number,
    aWidth: number,
    b: number,
    bWidth: number,
    rows: number,
    cardinality: number,
    out: number,
    outWidth: number,
  ): void;
  countCodes(
    codes: number,
    width: number,
    from: number,
    to: number,
    selection: number,
    cardinality: number,
    counts: number,
  ): void;
  raiseCodes(codes: number, width: number, rows: number, base: number, raised: number): void;
  markPairs(
    groups: number,
    groupWidth: number,
    codes: number,
    codeWidth: number,
    rows: number,
    selection: number,
    codeCount: number,
    marks: number,
  ): void;
  addCounts(counts: number, groups: number, totals: number): void;
  orderByGroup(
    groups: number,
    width: number,
    values: number,
    rows: number,
    selection: number,
    next: number,
    ordered: number,
  ): void;
  quantileOf(values: number, from: number, to: number, floor: number, share: number): number;
  sumGroups(
    groups: number,
    width: number,
    values: number,
    rows: number,
    selection: number,
    count: number,
    sums: number,
  ): void;
  leastOfGroups: ExtremesOfGroups;
  greatestOfGroups: ExtremesOfGroups;
  sum: Aggregate;
  least: Aggregate;
  greatest: Aggregate;
}

type ExtremesOfGroups = (
  groups: number,
  width: number,
  values: number,
  rows: number,
  selection: number,
  out: number,
) => void;
type Aggregate = (values: number, rows: number, selection: number) => number;

/**
 * Opens kernels over the vectors of one arena, for the thread that owns it. They keep operands in the arena's first
 * bytes, so they are not re-entrant.
 */
export function openKernels(arena: Arena): Kernels<Shared> {
  const exports = instantiateKernels<Exports>(arena.memory);
  assert(exports.scratchBytes.value <= reservedBytes, "kernels: the arena reserves too few bytes");
  const scratch = new Uint8Array(arena.memory.buffer, 0, reservedBytes);
  const needlePlace = new NeedlePlace(exports, scratch);
  return {
    ...makeTextKernels(exports, needlePlace),
    ...makeCodeKernels(exports, scratch),
    ...makeValueKernels(exports, scratch),
    ...makeBitKernels(exports),
    ...makeGroupKernels(exports),
    ...makeAggregateKernels(exports),
    ...makeOrderKernels(exports),
    ...makeDecodingKernels(exports, scratch),
    ...makeSlotSearchKernels(exports, scratch, needlePlace),
    ...makeAutomatonKernels(exports),
  };
}

function makeCodeKernels(
  exports: Exports,
  scratch: Uint8Array,
): Pick<Kernels<Shared>, "equalCodes" | "unequalCodes" | "codesBetween" | "codesInTable" | "largestCode"> {
  const testCodeRange = (
    codes: CodeVector<Shared>,
    low: number,
    high: number,
    negate: boolean,
    found: Bits<Shared>,
  ): void => {
    const width = codes.BYTES_PER_ELEMENT;
    const most = Math.min(high, 256 ** width - 1);
    if (low <= most) {
      exports.between(codes.byteOffset, width, codes.length, low, most - low, negate, found.byteOffset);
      return;
    }
    found.fill(0);
    if (negate) exports.not(found.byteOffset, codes.length);
  };
  const operandAt = exports.operandAt.value;
  const operandBytesMax = exports.operandBytesMax.value;
  return {
    equalCodes: (codes, code, found) => testCodeRange(codes, code, code, false, found),
    unequalCodes: (codes, code, found) => testCodeRange(codes, code, code, true, found),
    codesBetween: (codes, low, high, found) => testCodeRange(codes, low, high, false, found),
    codesInTable(codes, table, found) {
      const width = codes.BYTES_PER_ELEMENT;
      if (width > 1) {
        const run = findOnlyRun(table);
        if (run !== undefined) return testCodeRange(codes, run.low, run.high, false, found);
        if (table.length > operandBytesMax) return plainKernels.codesInTable(codes, table, found);
        for (let code = 0; code < table.length; code++) scratch[operandAt + code] = table[code] === 0 ? 0 : 1;
      } else {
        placeNibbles(table, scratch, operandAt);
      }
      exports.member(codes.byteOffset, width, codes.length, found.byteOffset);
    },
    largestCode: (codes) => exports.largest(codes.byteOffset, codes.BYTES_PER_ELEMENT, codes.length) >>> 0,
  };
}

/** The codes in the table as one range: low > high where it is empty, undefined where there are gaps between them. */
function findOnlyRun(table: Uint8Array): { low: number; high: number } | undefined {
  const low = table.findIndex((entry) => entry !== 0);
  if (low < 0) return { low: 1, high: 0 };
  const length = table.subarray(low).indexOf(0);
  const high = length < 0 ? table.length - 1 : low + length - 1;
  return table.subarray(high + 1).every((entry) => entry === 0) ? { low, high } : undefined;
}

/**
 * Writes the table for codes of a byte: for each low half of a code, a bit for each high half. High halves 0-7 are in
 * the first 16 bytes, 8-15 in the next 16.
 */
function placeNibbles(table: Uint8Array, scratch: Uint8Array, at: number): void {
  scratch.fill(0, at, at + 32);
  for (let code = 0; code < Math.min(table.length, 256); code++) {
    if (table[code] === 0) continue;
    const place = at + (code & 15) + (code >> 7) * 16;
    scratch[place] = scratch[place]! | (1 << ((code >> 4) & 7));
  }
}

function makeValueKernels(
  exports: Exports,
  scratch: Uint8Array,
): Pick<Kernels<Shared>, "numbersInRange" | "equalIds" | "findId" | "findFilter" | "bucketsOf"> {
  const operandAt = exports.operandAt.value;
  const idBytesMax = exports.operandBytesMax.value - 8;
  const placeId = (id: Uint8Array): boolean => {
    if (id.byteLength > idBytesMax) return false;
    scratch.set(id, operandAt);
    return true;
  };
  return {
    numbersInRange(values, { low, high, lowOpen, highOpen }, valid, found) {
      exports.inRange(values.byteOffset, values.length, low, high, lowOpen, highOpen, found.byteOffset);
      if (valid !== null) exports.and(found.byteOffset, valid.byteOffset, found.byteLength);
    },
    equalIds(ids, id, found) {
      if (!placeId(id)) return plainKernels.equalIds(ids, id, found);
      exports.equalIds(ids.byteOffset, ids.byteLength / id.byteLength, id.byteLength, found.byteOffset);
    },
    findId(ids, id, from) {
      if (!placeId(id)) return plainKernels.findId(ids, id, from);
      const rows = ids.byteLength / id.byteLength;
      const row = exports.findId(ids.byteOffset, from, rows, id.byteLength);
      return row >= rows ? -1 : row;
    },
    findFilter(filters, hash, from) {
      scratch.set(makeBlockMask(hash), operandAt);
      return exports.findFilter(filters.byteOffset, from, hash);
    },
    bucketsOf(times, start, width, buckets) {
      exports.bucketsOf(times.byteOffset, times.length, start, width, buckets.byteOffset);
    },
  };
}

function makeBitKernels(
  exports: Exports,
): Pick<Kernels<Shared>, "and" | "or" | "andNot" | "not" | "countBits" | "anyBit" | "expand"> {
  return {
    and: (a, b) => exports.and(a.byteOffset, b.byteOffset, a.byteLength),
    or: (a, b) => exports.or(a.byteOffset, b.byteOffset, a.byteLength),
    andNot: (a, b) => exports.andNot(a.byteOffset, b.byteOffset, a.byteLength),
    not: (a, rows) => exports.not(a.byteOffset, rows),
    countBits: (a) => exports.count(a.byteOffset, a.byteLength),
    anyBit: (a) => exports.any(a.byteOffset, a.byteLength) !== 0,
    expand: (a, from, out) =>
      exports.expand(a.byteOffset, from, a.byteLength * 8, out.byteOffset, out.length),
  };
}

function makeGroupKernels(
  exports: Exports,
): Pick<
  Kernels<Shared>,
  "combineCodes" | "countGroups" | "countRuns" | "addCounts" | "raiseCodes" | "markPairs"
> {
  return {
    combineCodes(a, b, cardinalityB, groups) {
      exports.combine(
        a.byteOffset,
        a.BYTES_PER_ELEMENT,
        b.byteOffset,
        b.BYTES_PER_ELEMENT,
        a.length,
        cardinalityB,
        groups.byteOffset,
        groups.BYTES_PER_ELEMENT,
      );
    },
    countGroups(groups, selection, counts) {
      const { byteOffset: at, BYTES_PER_ELEMENT: width, length } = groups;
      exports.countCodes(at, width, 0, length, addressOf(selection), counts.length, counts.byteOffset);
    },
    countRuns(codes, bounds, cardinality, selection, counts) {
      const { byteOffset: at, BYTES_PER_ELEMENT: width } = codes;
      const selected = addressOf(selection);
      for (let run = 0, out = counts.byteOffset; run + 1 < bounds.length; run++, out += cardinality * 4) {
        exports.countCodes(at, width, bounds[run]!, bounds[run + 1]!, selected, cardinality, out);
      }
    },
    raiseCodes(codes, base, raised) {
      exports.raiseCodes(codes.byteOffset, codes.BYTES_PER_ELEMENT, codes.length, base, raised.byteOffset);
    },
    markPairs(groups, codes, selection, codeCount, marks) {
      exports.markPairs(
        groups.byteOffset,
        groups.BYTES_PER_ELEMENT,
        codes.byteOffset,
        codes.BYTES_PER_ELEMENT,
        codes.length,
        addressOf(selection),
        codeCount,
        marks.byteOffset,
      );
    },
    addCounts: (counts, totals) => exports.addCounts(counts.byteOffset, counts.length, totals.byteOffset),
  };
}

function makeAggregateKernels(
  exports: Exports,
): Pick<Kernels<Shared>, "sumGroups" | "leastOfGroups" | "greatestOfGroups" | "sum" | "least" | "greatest"> {
  const wrapExtremes =
    (kernel: ExtremesOfGroups): Kernels<Shared>["leastOfGroups"] =>
    (groups, values, selection, out) => {
      const { byteOffset: at, BYTES_PER_ELEMENT: width } = groups;
      kernel(at, width, values.byteOffset, values.length, addressOf(selection), out.byteOffset);
    };
  const wrapAggregate =
    (kernel: Aggregate): Kernels<Shared>["sum"] =>
    (values, selection) =>
      kernel(values.byteOffset, values.length, addressOf(selection));
  return {
    sumGroups(groups, values, selection, sums) {
      const { byteOffset: at, BYTES_PER_ELEMENT: width } = groups;
      const selected = addressOf(selection);
      exports.sumGroups(at, width, values.byteOffset, values.length, selected, sums.length, sums.byteOffset);
    },
    leastOfGroups: wrapExtremes(exports.leastOfGroups),
    greatestOfGroups: wrapExtremes(exports.greatestOfGroups),
    sum: wrapAggregate(exports.sum),
    least: wrapAggregate(exports.least),
    greatest: wrapAggregate(exports.greatest),
  };
}

function makeOrderKernels(exports: Exports): Pick<Kernels<Shared>, "orderByGroup" | "quantileOf"> {
  return {
    orderByGroup(groups, values, selection, next, ordered) {
      const { byteOffset: at, BYTES_PER_ELEMENT: width } = groups;
      const selected = addressOf(selection);
      const { byteOffset: valuesAt, length } = values;
      exports.orderByGroup(at, width, valuesAt, length, selected, next.byteOffset, ordered.byteOffset);
    },
    quantileOf(values, from, to, rank) {
      const floor = Math.floor(rank);
      return exports.quantileOf(values.byteOffset, from, to, from + floor, rank - floor);
    },
  };
}

/** 0 stands for no selection: the kernels' own tables are at that address, never a block. */
function addressOf(selection: Bits<Shared> | null): number {
  return selection === null ? 0 : selection.byteOffset;
}
