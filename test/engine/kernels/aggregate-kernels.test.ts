/** Counts, sums and extremes of both implementations against a loop over rows. */
import { describe, expect, test } from "vitest";
import type { Random } from "../../../fixtures/random.ts";
import {
  bitAt,
  expectSame,
  forEachCase,
  implementations,
  makeCodes,
  randomBits,
  randomFraction,
  seed,
} from "./kernel-cases.ts";

/**
 * Widths of codes in bytes and their cardinality: on both sides of every bound where a kernel changes its algorithm.
 */
const shapes = [
  [1, 1],
  [1, 2],
  [1, 4],
  [1, 5],
  [1, 12],
  [1, 13],
  [1, 16],
  [1, 100],
  [1, 128],
  [1, 129],
  [1, 256],
  [2, 3],
  [2, 300],
  [2, 4096],
  [2, 4097],
  [2, 65_536],
  [4, 2],
  [4, 1000],
  [4, 4097],
  [4, 20_000],
] as const;

/** Random codes: uniform, skewed to a few, in runs, or all the same, which makes a narrow counter overflow soonest. */
function randomCodes(rows: number, cardinality: number, random: Random): number[] {
  const kind = random.below(4);
  let code = random.below(cardinality);
  return Array.from({ length: rows }, () => {
    if (kind === 0) return random.below(cardinality);
    if (kind === 1) return Math.floor(randomFraction(random) ** 4 * cardinality);
    if (kind === 2 && random.oneIn(50)) code = random.below(cardinality);
    return code;
  });
}

/** A selection of every row, of none, most, few, all but a few, or of whole bytes of rows. */
function randomSelection(rows: number, random: Random): Uint8Array | null {
  const kind = random.below(6);
  if (kind === 0) return null;
  const bits = randomBits(rows, [1, 0, 0.6, 0.02, 0.98, 1][kind]!, random);
  if (kind === 5)
    for (let at = 0; at + 8 <= bits.length; at += 8) if (random.oneIn(2)) bits.fill(0, at, at + 8);
  return bits;
}

describe.each(implementations)(`$name aggregates (SVC_SEED=${seed})`, ({ kernels, memory }) => {
  test.each(shapes)("counts of codes of %i bytes, cardinality %i", (width, cardinality) => {
    forEachCase(memory, (rows, alignment, random) => {
      const values = randomCodes(rows, cardinality, random);
      const codes = makeCodes(memory, width, values, alignment);
      const selection = randomSelection(rows, random);
      const truth = new Uint32Array(cardinality).fill(3);
      for (const [row, code] of values.entries()) {
        if (selection === null || bitAt(selection, row)) truth[code]!++;
      }
      const counts = memory.words(new Uint32Array(cardinality).fill(3), random.below(16));
      kernels.countGroups(codes, selection && memory.bytes(selection, random.below(16)), counts);
      expectSame(counts, truth);
    });
  });

  test.each([
    [1, 4],
    [1, 50],
    [2, 300],
    [4, 3],
  ])("counts of codes in runs of rows, codes of %i bytes, cardinality %i", (width, cardinality) => {
    forEachCase(memory, (rows, alignment, random) => {
      const values = randomCodes(rows, cardinality, random);
      const codes = makeCodes(memory, width, values, alignment);
      const selection = randomSelection(rows, random);
      const runs = random.below(20);
      // Rows before the first bound and after the last one are in no run.
      const bounds = Uint32Array.from({ length: runs + 1 }, () => random.below(rows + 1)).sort();
      const truth = new Uint32Array(runs * cardinality);
      for (let run = 0; run < runs; run++) {
        for (let row = bounds[run]!; row < bounds[run + 1]!; row++) {
          if (selection === null || bitAt(selection, row)) truth[run * cardinality + values[row]!]!++;
        }
      }
      const counts = memory.words(new Uint32Array(runs * cardinality), random.below(16));
      const selected = selection && memory.bytes(selection, random.below(16));
      kernels.countRuns(codes, bounds, cardinality, selected, counts);
      expectSame(counts, truth);
    });
  });

  test.each(shapes)(
    "counts of codes of %i bytes, cardinality %i, where every row has the greatest code",
    (width, cardinality) => {
      const rows = 20_000;
      const codes = makeCodes(memory, width, new Uint32Array(rows).fill(cardinality - 1), 0);
      for (const selection of [null, memory.bytes(new Uint8Array(rows / 8).fill(0xff), 1)]) {
        const counts = memory.words(new Uint32Array(cardinality), 0);
        kernels.countGroups(codes, selection, counts);
        expect(counts[cardinality - 1]).toBe(rows);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(rows);
      }
      memory.clear();
    },
  );

  test("counts are added to totals that exceed 32 bits", () => {
    const counts = memory.words([1, 2 ** 32 - 1, 7], 4);
    const totals = memory.doubles([2 ** 40, 2 ** 40, 0], 8);
    kernels.addCounts(counts, totals);
    expect([...totals]).toEqual([2 ** 40 + 1, 2 ** 40 + 2 ** 32 - 1, 7]);
    memory.clear();
  });

  test.each([
    [1, 1],
    [1, 200],
    [2, 2048],
    [2, 2049],
    [4, 10],
    [4, 20_000],
  ])("sums and extremes of groups, numbers of %i bytes, cardinality %i", (width, cardinality) => {
    forEachCase(memory, (rows, alignment, random) => {
      const codes = randomCodes(rows, cardinality, random);
      const numbers = Array.from({ length: rows }, () => random.between(-1e9, 1e9));
      const selection = randomSelection(rows, random);
      const groups = makeCodes(memory, width, codes, alignment);
      const values = memory.doubles(numbers, random.below(16));
      const selected = selection && memory.bytes(selection, random.below(16));
      const empty = { sumGroups: 5, leastOfGroups: 1e8, greatestOfGroups: Number.NEGATIVE_INFINITY };
      for (const kernel of ["sumGroups", "leastOfGroups", "greatestOfGroups"] as const) {
        const truth = new Float64Array(cardinality).fill(empty[kernel]);
        for (const [row, code] of codes.entries()) {
          if (selection !== null && !bitAt(selection, row)) continue;
          const value = numbers[row]!;
          if (kernel === "sumGroups") truth[code]! += value;
          else truth[code] = Math[kernel === "leastOfGroups" ? "min" : "max"](truth[code]!, value);
        }
        const out = memory.doubles(new Float64Array(cardinality).fill(empty[kernel]), random.below(16));
        kernels[kernel](groups, values, selected, out);
        expectSame(out, truth);
      }
    });
  });

  test.each([
    [1, 1],
    [1, 200],
    [2, 300],
    [4, 20_000],
  ])("values are ordered by groups, numbers of %i bytes, cardinality %i", (width, cardinality) => {
    forEachCase(memory, (rows, alignment, random) => {
      const codes = randomCodes(rows, cardinality, random);
      const numbers = Array.from({ length: rows }, () => random.between(-1e9, 1e9));
      const selection = randomSelection(rows, random);
      const chosen = [...codes.keys()].filter((row) => selection === null || bitAt(selection, row));
      const ordered = chosen.toSorted((a, b) => codes[a]! - codes[b]!);
      const next = new Uint32Array(cardinality + 1);
      for (const row of chosen) next[codes[row]! + 1]!++;
      for (let code = 0; code < cardinality; code++) next[code + 1]! += next[code]!;
      const places = memory.words(next.subarray(0, cardinality), random.below(16));
      const out = memory.doubles(new Float64Array(chosen.length), random.below(16));
      const groups = makeCodes(memory, width, codes, alignment);
      const values = memory.doubles(numbers, random.below(16));
      kernels.orderByGroup(
        groups,
        values,
        selection && memory.bytes(selection, random.below(16)),
        places,
        out,
      );
      expectSame(
        out,
        ordered.map((row) => numbers[row]!),
      );
      expectSame(places, next.subarray(1));
    });
  });

  test("quantiles of numbers that are random, mostly equal, sorted, or infinite", () => {
    forEachCase(memory, (rows, alignment, random) => {
      const kind = random.below(5);
      const numbers = Array.from({ length: rows }, (_, i) => {
        if (kind === 0) return random.between(-1e9, 1e9);
        if (kind === 1) return random.below(3);
        if (kind === 2) return i;
        if (kind === 3) return -i;
        return random.oneIn(3) ? Number.POSITIVE_INFINITY : randomFraction(random);
      });
      const values = memory.doubles(numbers, alignment);
      const from = random.below(Math.min(rows, 5) + 1);
      const sorted = Float64Array.from(numbers.slice(from)).sort();
      for (const q of [0.5, 0.95, 0, 1, randomFraction(random)]) {
        if (from === rows) continue;
        const rank = q * (sorted.length - 1);
        const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
        const truth = low === high ? low : low + (high - low) * (rank - Math.floor(rank));
        expect(kernels.quantileOf(values, from, rows, rank), `${q} of ${rows}`).toBe(truth);
      }
      expectSame(values.slice(from).sort(), sorted);
      expectSame(values.subarray(0, from), numbers.slice(0, from));
    });
  });

  test.each([
    [1, 200, 1],
    [2, 1000, 2],
    [4, 300, 4],
  ])(
    "pairs of group and code are marked, codes of %i bytes, cardinality %i, groups of %i bytes",
    (width, codeCount, groupWidth) => {
      forEachCase(memory, (rows, alignment, random) => {
        const codes = randomCodes(rows, codeCount, random);
        const groups = randomCodes(rows, 20, random);
        const selection = randomSelection(rows, random);
        const truth = new Uint8Array(20 * codeCount);
        for (const [row, code] of codes.entries()) {
          if (selection === null || bitAt(selection, row)) truth[groups[row]! * codeCount + code] = 1;
        }
        const marks = memory.bytes(new Uint8Array(20 * codeCount), random.below(16));
        kernels.markPairs(
          makeCodes(memory, groupWidth, groups, alignment),
          makeCodes(memory, width, codes, random.below(16)),
          selection && memory.bytes(selection, random.below(16)),
          codeCount,
          marks,
        );
        expectSame(marks, truth);
      });
    },
  );

  test.each([1, 2, 4])("a base is added to codes of %i bytes", (width) => {
    forEachCase(memory, (rows, alignment, random) => {
      const codes = randomCodes(rows, 200, random);
      const raised = memory.words(new Uint32Array(rows), random.below(16));
      kernels.raiseCodes(makeCodes(memory, width, codes, alignment), 3_000_000_000, raised);
      expectSame(
        raised,
        codes.map((code) => code + 3_000_000_000),
      );
    });
  });

  test("sum and extremes of the selected rows; a NaN counts in the sum alone", () => {
    forEachCase(memory, (rows, alignment, random) => {
      const numbers = Array.from({ length: rows }, () => random.between(-1e9, 1e9));
      const selection = randomSelection(rows, random);
      const chosen = numbers.filter((_, row) => selection === null || bitAt(selection, row));
      const values = memory.doubles(numbers, alignment);
      const selected = selection && memory.bytes(selection, random.below(16));
      expect(kernels.sum(values, selected)).toBe(chosen.reduce((sum, value) => sum + value, 0));
      const least = chosen.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
      const greatest = chosen.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
      expect(kernels.least(values, selected)).toBe(least);
      expect(kernels.greatest(values, selected)).toBe(greatest);
      if (rows === 0) return;
      const row = random.below(rows);
      values[row] = Number.NaN;
      const rest = numbers.filter((_, other) => other !== row);
      expect(kernels.sum(values, null)).toBeNaN();
      expect(kernels.least(values, null)).toBe(
        rest.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      );
    });
  });

  test("sums of fractions differ from those of a plain loop by rounding alone", () => {
    forEachCase(memory, (rows, alignment, random) => {
      const numbers = Array.from({ length: rows }, () => randomFraction(random) * 10 ** random.below(8));
      const truth = numbers.reduce((sum, value) => sum + value, 0);
      const values = memory.doubles(numbers, alignment);
      const sums = memory.doubles([0], 8);
      kernels.sumGroups(memory.bytes(new Uint8Array(rows), 0), values, null, sums);
      for (const sum of [kernels.sum(values, null), sums[0]!]) {
        expect(Math.abs(sum - truth)).toBeLessThanOrEqual(truth * rows * Number.EPSILON);
      }
    });
  });
});
