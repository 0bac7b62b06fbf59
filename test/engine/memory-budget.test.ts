/** The division of memory: within the whole, growing with it, and refused where it is too little. */
import { assert, constantFrom, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  describeMemory,
  divideMemory,
  Failure,
  type MemoryBudget,
  memoryBytesMin,
} from "../../engine/index.ts";
import { defaultMemoryBytes, type MemoryUse } from "../../engine/memory-budget.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const uses: readonly MemoryUse[] = ["server", "load", "library"];
const anyUse = constantFrom(...uses);
const anyMebibytes = integer({ min: memoryBytesMin / MiB, max: 256 * 1024 });
const anyCores = integer({ min: 1, max: 128 });

/** All numbers of a division by name, but those of one thread of many. */
function listSizes({ parts, chunkCaps, ...budget }: MemoryBudget): [string, number][] {
  const { scanThreads, encoderThreads, decodeThreads, unsealedBytesStop, requestBytes } = budget;
  return Object.entries({
    ...parts,
    ...{ scanThreads, encoderThreads, decodeThreads, unsealedBytesStop, requestBytes },
    queryStateBytes: budget.queryStateBytes,
    journalQueueBytes: budget.journalQueueBytes,
  });
}

describe("a division of memory", () => {
  test("gives away no more than there is, and leaves no part of its use without any", () => {
    assert(
      property(anyUse, anyMebibytes, anyCores, (use, mebibytes, cores) => {
        const { bytes, parts } = divideMemory({ use, bytes: mebibytes * MiB, cores });
        expect(bytes).toBe(mebibytes * MiB);
        const sum = Object.values(parts).reduce((a, b) => a + b, 0);
        expect(sum).toBeLessThanOrEqual(bytes);
        for (const part of ["program", "memtable", "encoding", "journal"] as const)
          expect(parts[part]).toBeGreaterThanOrEqual(8 * MiB);
      }),
    );
  });

  test("makes no part smaller and no thread fewer with more memory", () => {
    assert(
      property(anyUse, anyMebibytes, integer({ min: 1, max: 10_000 }), anyCores, (use, from, more, cores) => {
        const smaller = listSizes(divideMemory({ use, bytes: from * MiB, cores }));
        const larger = new Map(listSizes(divideMemory({ use, bytes: (from + more) * MiB, cores })));
        for (const [name, size] of smaller) expect(larger.get(name), name).toBeGreaterThanOrEqual(size);
      }),
    );
  });

  test("keeps threads, caches and chunks within what works", () => {
    assert(
      property(anyUse, anyMebibytes, anyCores, (use, mebibytes, cores) => {
        const budget = divideMemory({ use, bytes: mebibytes * MiB, cores });
        const { scanThreads, encoderThreads, decodeThreads, chunkCaps, parts } = budget;
        for (const threads of [scanThreads, decodeThreads]) {
          expect(threads).toBeGreaterThanOrEqual(1);
          expect(threads).toBeLessThanOrEqual(cores);
        }
        expect(encoderThreads).toBeLessThanOrEqual(cores / 2);
        if (use !== "load") expect(budget.columnCacheBytes).toBeLessThanOrEqual(parts.columns);
        expect(Math.log2(chunkCaps.rowsMax) % 1).toBe(0);
        expect(chunkCaps.rowsMax).toBeGreaterThanOrEqual(16_384);
        expect(chunkCaps.rowsMax).toBeLessThanOrEqual(131_072);
        expect(budget.unsealedBytesMax).toBeLessThan(budget.unsealedBytesStop);
      }),
    );
  });

  test.each(uses)("of a machine of usual size restricts a %s in nothing", (use) => {
    const budget = divideMemory({ use, bytes: 16 * GiB, cores: 4 });
    expect(budget.chunkCaps.rowsMax).toBe(131_072);
    expect(budget.encoderThreads).toBe(2);
    if (use === "server") expect(budget).toMatchObject({ scanThreads: 4, decodeThreads: 2 });
    if (use === "load") expect(budget).toMatchObject({ decodeThreads: 4, unsealedBytesStop: 96 * MiB });
  });

  test("is refused with what would do where there is too little", () => {
    const tooLittle = () => divideMemory({ use: "server", bytes: 100 * MiB });
    expect(tooLittle).toThrow(Failure);
    expect(tooLittle).toThrow("100 MiB of memory are too little: svc needs 440 MiB");
    expect(() => divideMemory({ use: "server", bytes: memoryBytesMin, cores: 1 })).not.toThrow();
  });

  test("gives a column cache of a fixed size that size, and the others the rest", () => {
    const fixed = { use: "server", cores: 2, scanThreads: 2, columnCacheBytes: GiB } as const;
    const { columnCacheBytes, parts, bytes } = divideMemory({ ...fixed, bytes: 2 * GiB });
    expect(columnCacheBytes).toBe(GiB);
    expect(parts.columns).toBeGreaterThan(GiB);
    expect(Object.values(parts).reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(bytes);
    const tooLarge = () => divideMemory({ ...fixed, bytes: GiB });
    expect(tooLarge).toThrow(
      "a column cache of 1024 MiB does not fit into 1024 MiB of memory: 1413 MiB would do",
    );
    expect(() => divideMemory({ ...fixed, bytes: 1413 * MiB })).not.toThrow();
  });

  test("is said in one line", () => {
    const text = describeMemory(divideMemory({ use: "server", bytes: GiB, cores: 2 }));
    expect(text).toMatch(
      /^1024 MiB: program \d+ MiB, columns \d+ MiB, .*; 2 scan, 1 encoder, 1 decoder threads$/,
    );
  });
});

test("by default a process takes half of what it is given, and of little what it needs", () => {
  expect(defaultMemoryBytes(16 * GiB)).toBe(8 * GiB);
  expect(defaultMemoryBytes(GiB)).toBe(GiB / 2);
  expect(defaultMemoryBytes(GiB / 2)).toBe(memoryBytesMin);
  expect(defaultMemoryBytes(GiB / 4)).toBe(GiB / 4);
});
