/**
 * The arena against a list of what was allocated: blocks never overlap, all memory is reused, and growth keeps views
 * valid.
 */
import { describe, expect, test } from "vitest";
import { Arena, type ArenaBlock, overreadBytes, reservedBytes } from "../../../engine/kernels/arena.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "./kernel-cases.ts";

const MiB = 1024 * 1024;

describe(`an arena (SVC_SEED=${seed})`, () => {
  test("allocates aligned blocks that never overlap, with room to read past their ends", () => {
    const random = new Random(seed);
    const arena = new Arena({ bytesMax: 8 * MiB });
    let blocks: ArenaBlock[] = [];
    for (let step = 0; step < 4000; step++) {
      if (random.below(100) < (step % 1000 < 500 ? 65 : 35) && blocks.length > 0) {
        const [block] = blocks.splice(random.below(blocks.length), 1);
        arena.free(block!);
        continue;
      }
      const byteLength = random.below(2 ** random.below(18));
      const room = arena.largestFreeBytes;
      const block = arena.allocate(byteLength);
      expect(block !== undefined, `${byteLength} bytes where ${room} are free`).toBe(byteLength <= room);
      if (block === undefined) continue;
      expect(block.at % 16).toBe(0);
      expect(block.allocatedBytes).toBeGreaterThanOrEqual(byteLength + overreadBytes);
      expect(block.allocatedBytes).toBeLessThanOrEqual((byteLength + overreadBytes) * 1.125 + 16);
      blocks.push(block);
    }
    expect(arena.usedBytes).toBe(blocks.reduce((sum, { allocatedBytes }) => sum + allocatedBytes, 0));
    blocks = blocks.sort((a, b) => a.at - b.at);
    let end = reservedBytes;
    for (const { at, allocatedBytes } of blocks) {
      expect(at).toBeGreaterThanOrEqual(end);
      end = at + allocatedBytes;
    }
    expect(end).toBeLessThanOrEqual(arena.memory.buffer.byteLength);
  });

  test("is one free range again once every block is freed, in any order", () => {
    const random = new Random(seed, 1);
    const arena = new Arena({ bytesMax: 4 * MiB });
    const whole = arena.largestFreeBytes;
    expect(whole).toBeGreaterThan((4 * MiB - reservedBytes) * 0.875);
    for (let round = 0; round < 20; round++) {
      const blocks: ArenaBlock[] = [];
      for (;;) {
        const block = arena.allocate(random.below(100_000));
        if (block === undefined) break;
        blocks.push(block);
      }
      while (blocks.length > 0) arena.free(blocks.splice(random.below(blocks.length), 1)[0]!);
      expect(arena.usedBytes).toBe(0);
      expect(arena.largestFreeBytes).toBe(whole);
    }
    expect(arena.allocate(whole)).toBeDefined();
  });

  test("the range of a freed column fits a column of about its length", () => {
    const arena = new Arena({ bytesMax: 4 * MiB });
    const blocks = Array.from({ length: 7 }, () => arena.allocate(500_000)!);
    expect(arena.allocate(500_000)).toBeUndefined();
    arena.free(blocks[2]!);
    expect(arena.allocate(510_000)?.at).toBe(blocks[2]!.at);
  });

  test("views stay valid when the memory grows, and it grows only when it must", () => {
    const arena = new Arena({ bytesMax: 64 * MiB });
    const before = arena.memory.buffer.byteLength;
    expect(before).toBe(reservedBytes);
    const first = arena.allocate(1000)!;
    const view = first.uint32();
    expect(view.length).toBe(250);
    view[249] = 0xdead_beef;
    const rest = arena.allocate(40 * MiB)!;
    expect(arena.memory.buffer.byteLength).toBeGreaterThan(40 * MiB);
    rest.uint8().fill(1);
    expect(view[249]).toBe(0xdead_beef);
    view[0] = 7;
    expect(first.uint16(2).at(0)).toBe(7);
    expect(first.uint32(1, 996)[0]).toBe(0xdead_beef);
    expect(rest.float64().length).toBe(5 * MiB);
  });

  test("stays within its budget, and refuses to free blocks of another arena", () => {
    const arena = new Arena({ bytesMax: 3 * MiB + 5 });
    expect(arena.bytesMax).toBe(3 * MiB);
    const other = new Arena({ bytesMax: MiB });
    const block = arena.allocate(10)!;
    expect(() => other.free(block)).toThrow("not one of its own");
    arena.free(block);
    expect(() => arena.free(block)).toThrow("not one of its own");
    expect(arena.allocate(3 * MiB)).toBeUndefined();
    // A budget that is too small is raised to what the kernels reserve for themselves.
    expect(new Arena({ bytesMax: 0 }).bytesMax).toBe(reservedBytes);
  });
});
