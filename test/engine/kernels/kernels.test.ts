/** Both implementations of the kernels against loops over rows: edge sizes, every alignment, random vectors. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findBucketBounds } from "../../../engine/kernels/bucket-bounds.ts";
import { buildMembershipFilter, mayContain } from "../../../engine/vector/membership-filter.ts";
import { Random } from "../../../fixtures/random.ts";
import {
  bitAt,
  collectParts,
  dirtyBitmap,
  expectBits,
  expectSame,
  forEachCase,
  implementations,
  makeCodes,
  randomBits,
  randomFraction,
  seed,
  sizes,
} from "./kernel-cases.ts";

describe.each(implementations)(`$name kernels (SVC_SEED=${seed})`, ({ kernels, memory }) => {
  test.each([
    [1, 2],
    [1, 250],
    [2, 3],
    [2, 60_000],
    [4, 3],
    [4, 4_000_000_000],
  ])(
    "codes of %i bytes, cardinality %i: equal, unequal, in a range, in a table, largest",
    (width, cardinality) => {
      forEachCase(memory, (rows, alignment, random) => {
        const values = Array.from({ length: rows }, () => Math.floor(randomFraction(random) * cardinality));
        const codes = makeCodes(memory, width, values, alignment);
        const found = dirtyBitmap(memory, rows, random.below(16));
        const known = values[random.below(rows + 1)] ?? 1;
        for (const code of [0, known, cardinality - 1, 256 ** width]) {
          kernels.equalCodes(codes, code, found);
          expectBits(found, values, (value) => value === code);
          kernels.unequalCodes(codes, code, found);
          expectBits(found, values, (value) => value !== code);
        }
        for (const [low, high] of [
          [0, known],
          [known, cardinality],
          [Math.floor(known / 2), known],
          [2, 1],
        ] as const) {
          kernels.codesBetween(codes, low, high, found);
          expectBits(found, values, (value) => value >= low && value <= high);
        }
        expect(kernels.largestCode(codes)).toBe(values.reduce((most, value) => Math.max(most, value), 0));
        if (cardinality > 70_000) return;
        const share = random.pick([0, 0.01, 0.5, 1]);
        const table = Uint8Array.from({ length: cardinality }, () =>
          randomFraction(random) < share ? 7 : 0,
        );
        kernels.codesInTable(codes, table, found);
        expectBits(found, values, (value) => table[value] !== 0);
      });
    },
  );

  test("codes in a table of one run, and in a table too large for the kernels' own memory", () => {
    const random = new Random(seed);
    const values = Array.from({ length: 777 }, () => random.below(200_000));
    const found = dirtyBitmap(memory, 777, 3);
    const table = new Uint8Array(200_000);
    for (const runs of [
      [[0, 200_000]],
      [[10, 90_000]],
      [
        [5, 6],
        [100_000, 150_000],
      ],
    ] as const) {
      table.fill(0);
      for (const [from, to] of runs) table.fill(1, from, to);
      kernels.codesInTable(memory.words(values, 0), table, found);
      expectBits(found, values, (value) => table[value] !== 0);
    }
    memory.clear();
  });

  test("numbers in a range, open and closed, with and without validity", () => {
    const odd = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 5e-324, 2 ** 53];
    forEachCase(memory, (rows, alignment, random) => {
      const values = Array.from({ length: rows }, () =>
        random.below(4) === 0 ? odd[random.below(odd.length)]! : random.below(20) - 10 + random.below(2) / 2,
      );
      const vector = memory.doubles(values, alignment);
      const found = dirtyBitmap(memory, rows, random.below(16));
      const valid = memory.bytes(randomBits(rows, 0.7, random), random.below(16));
      const [low, high] = [random.below(20) - 10, random.below(20) - 5];
      for (const form of [0, 1, 2, 3, 4, 5]) {
        const range = {
          low: form === 4 ? Number.NEGATIVE_INFINITY : low,
          high: form === 5 ? Number.POSITIVE_INFINITY : high,
          lowOpen: (form & 1) === 1,
          highOpen: (form & 2) === 2,
        };
        const passes = (value: number): boolean =>
          (range.lowOpen ? value > range.low : value >= range.low) &&
          (range.highOpen ? value < range.high : value <= range.high);
        kernels.numbersInRange(vector, range, null, found);
        expectBits(found, values, passes);
        kernels.numbersInRange(vector, range, valid, found);
        expectBits(found, values, (value, row) => passes(value) && bitAt(valid, row));
      }
    });
  });

  test.each([1, 3, 8, 12, 16, 20, 32, 64])("ids of %i bytes: all equal ones, and the next one", (width) => {
    forEachCase(memory, (rows, alignment, random) => {
      if (rows > 5000) return;
      const kinds = Array.from({ length: 4 }, () => Array.from({ length: width }, () => random.below(256)));
      // The last id differs from the first in one bit of one byte.
      kinds[3] = kinds[0]!.slice();
      kinds[3][random.below(width)]! ^= 1 << random.below(8);
      const picks = Array.from({ length: rows }, () => random.below(4));
      const ids = memory.bytes(
        picks.flatMap((pick) => kinds[pick]!),
        alignment,
      );
      const text = (kind: number): string => kinds[kind]!.join();
      const found = dirtyBitmap(memory, rows, random.below(16));
      for (const kind of [0, 1]) {
        kernels.equalIds(ids, Uint8Array.from(kinds[kind]!), found);
        expectBits(found, picks, (pick) => text(pick) === text(kind));
        for (const from of [0, random.below(rows + 1), rows]) {
          const next = picks.findIndex((pick, row) => row >= from && text(pick) === text(kind));
          expect(kernels.findId(ids, Uint8Array.from(kinds[kind]!), from)).toBe(next);
        }
      }
    });
  });

  test("membership filters: the first that may contain a hash, and every one that does contain it", () => {
    const random = new Random(seed);
    const hash = () => random.below(2 ** 32);
    for (let round = 0; round < 60; round++) {
      const held = Array.from({ length: random.below(9) }, () =>
        Array.from({ length: random.below(300) }, hash),
      );
      const filters = held.map((hashes) =>
        buildMembershipFilter(Uint32Array.from(hashes), random.pick([4, 12, 16])),
      );
      const ends = filters.map((_, i) =>
        filters.slice(0, i + 1).reduce((sum, one) => sum + one.byteLength, 0),
      );
      const head = new Uint8Array(Uint32Array.of(filters.length, ...ends).buffer);
      const bytes = memory.bytes([...Buffer.concat([head, ...filters])], 4 * random.below(4));
      for (const wanted of [...held.flat().slice(0, 40), ...Array.from({ length: 40 }, hash)]) {
        const may = filters.map((filter) => mayContain(filter, wanted));
        for (const from of [0, random.below(filters.length + 1), filters.length]) {
          const first = may.findIndex((one, i) => i >= from && one);
          expect(kernels.findFilter(bytes, wanted, from)).toBe(first);
        }
        for (const [i, hashes] of held.entries()) if (hashes.includes(wanted)) expect(may[i]).toBe(true);
      }
    }
  });

  test("bitmap operations, counts of bits, and rows of the set bits, a few at a time", () => {
    forEachCase(memory, (rows, alignment, random) => {
      for (const share of [0, 0.02, 0.5, 1]) {
        const a = randomBits(rows, share, random);
        const b = randomBits(rows, 0.5, random);
        const all = Array.from({ length: rows }, (_, row) => row);
        const right = memory.bytes(b, random.below(16));
        for (const [name, truth] of [
          ["and", (row: number) => bitAt(a, row) && bitAt(b, row)],
          ["or", (row: number) => bitAt(a, row) || bitAt(b, row)],
          ["andNot", (row: number) => bitAt(a, row) && !bitAt(b, row)],
        ] as const) {
          const left = memory.bytes(a, alignment);
          kernels[name](left, right);
          expectBits(left, all, truth);
        }
        const inverse = memory.bytes(a, alignment);
        kernels.not(inverse, rows);
        expectBits(inverse, all, (row) => !bitAt(a, row));
        const set = all.filter((row) => bitAt(a, row));
        const bits = memory.bytes(a, alignment);
        expect(kernels.countBits(bits)).toBe(set.length);
        expect(kernels.anyBit(bits)).toBe(set.length > 0);
        const out = memory.words(new Uint32Array(1 + random.below(rows + 1)), random.below(16));
        expect(collectParts(out, (from) => kernels.expand(bits, from, out))).toEqual(set);
      }
    });
  });

  test("buckets of times", () => {
    forEachCase(memory, (rows, alignment, random) => {
      const width = [1, 1e9, 60e9, 0.25][random.below(4)]!;
      const start = random.below(1000) * 1e9;
      const times = Array.from({ length: rows }, () =>
        random.below(3) === 0 ? start + random.below(300) * width : (randomFraction(random) - 0.1) * 86_400e9,
      );
      times.splice(0, Math.min(rows, 3), ...[Number.NaN, start - 1, 2 ** 60].slice(0, rows));
      const buckets = memory.words(new Uint32Array(rows), random.below(16));
      kernels.bucketsOf(memory.doubles(times, alignment), start, width, buckets);
      for (const [row, time] of times.entries()) {
        const bucket = Math.floor((time - start) / width);
        const cut = bucket >= 2 ** 32 ? 2 ** 32 - 1 : bucket > 0 ? bucket : 0;
        if (buckets[row] !== cut)
          expect.fail(`row ${row} of ${rows}: ${time} is in ${buckets[row]}, not ${cut}`);
      }
    });
  });

  test("group numbers from two vectors of codes of every width", () => {
    forEachCase(memory, (rows, alignment, random) => {
      for (const [widthA, cardinalityA] of [
        [1, 15],
        [2, 15],
        [4, 15],
        [2, 60_000],
      ] as const) {
        for (const [widthB, cardinalityB] of [
          [1, 17],
          [2, 17],
          [4, 17],
          [4, 70_000],
        ] as const) {
          const a = Array.from({ length: rows }, () => random.below(cardinalityA));
          const b = Array.from({ length: rows }, () => random.below(cardinalityB));
          const truth = a.map((code, row) => code * cardinalityB + b[row]!);
          const [vectorA, vectorB] = [
            makeCodes(memory, widthA, a, alignment),
            makeCodes(memory, widthB, b, random.below(16)),
          ];
          for (const width of [1, 2, 4]) {
            if (cardinalityA * cardinalityB > 256 ** width) continue;
            const groups = makeCodes(memory, width, new Array(rows).fill(0), random.below(16));
            kernels.combineCodes(vectorA, vectorB, cardinalityB, groups);
            expectSame(groups, truth);
          }
        }
      }
    });
  });
});

describe("buckets of ascending times", () => {
  test("begin where a pass over every time finds them", () => {
    const random = new Random(seed);
    for (const rows of sizes.slice(0, -1)) {
      const times = Float64Array.from({ length: rows }, () => random.below(1000)).sort();
      for (const width of [1, 7, 100, 5000]) {
        const bounds = new Uint32Array(2 + random.below(300));
        const start = random.below(1200) - 100;
        findBucketBounds(times, start, width, bounds);
        const truth = Array.from(bounds, (_, i) => times.filter((time) => time < start + i * width).length);
        expectSame(bounds, truth);
      }
    }
  });
});

const root = join(import.meta.dirname, "..", "..", "..");
const hasCompiler = existsSync(join(root, "node_modules", "assemblyscript", "package.json"));

describe("the compiled kernels", () => {
  // An install without development packages has no compiler.
  test.skipIf(!hasCompiler)("are what their sources compile to", async () => {
    const { main } = await import("assemblyscript/asc");
    const written = new Map<string, Uint8Array | string>();
    const config = "engine/kernels/assembly/asconfig.json";
    const { error, stderr } = await main(["--config", config, "--baseDir", root], {
      writeFile: (name, contents) => void written.set(name, contents),
    });
    expect(error, stderr.toString()).toBeNull();
    const [bytes] = written.values();
    const stored = readFileSync(join(root, "engine", "kernels", "kernels.wasm"));
    expect(stored.equals(bytes as Uint8Array), "npm run kernels compiles them anew").toBe(true);
  });
});
