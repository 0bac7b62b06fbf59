/** The column cache: which columns it evicts, and when it says that it has no room. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ColumnMemory } from "../../../engine/kernels/heap.ts";
import { ColumnCache } from "../../../engine/scan/column-cache.ts";

const mebibyte = 2 ** 20;
const bytesMax = 8 * mebibyte;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Adds columns of a mebibyte each. `dropped` lists their numbers in the order in which they were evicted. */
function fill(cache: ColumnCache, count: number): { dropped: number[]; touch: (i: number) => void } {
  const dropped: number[] = [];
  const held = Array.from({ length: count }, (_, i) => {
    const lease = cache.lease();
    const one = lease.allocateColumn(() => dropped.push(i));
    one.uint8(mebibyte - 4_096);
    lease.end();
    return one;
  });
  const touch = (i: number) => {
    const lease = cache.lease();
    lease.pin(held[i]!);
    lease.end();
  };
  return { dropped, touch };
}

test("a cache that protects recent columns has no room for more, until a minute has passed since their use", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: true });
  expect(memory.hasRoom(mebibyte)).toBe(true);
  const { dropped, touch } = fill(memory, 7);
  expect(memory.hasRoom(2 * mebibyte)).toBe(false);
  vi.advanceTimersByTime(50_000);
  for (let i = 2; i < 7; i++) touch(i);
  expect(memory.hasRoom(2 * mebibyte)).toBe(false);
  vi.advanceTimersByTime(15_000);
  expect(memory.hasRoom(4 * mebibyte)).toBe(false);
  vi.advanceTimersByTime(1_500);
  expect(memory.hasRoom(mebibyte)).toBe(true);
  fill(memory, 2);
  expect(dropped).toEqual([0, 1]);
});

test("any other cache always has room: it evicts the least recently used column that no lease holds", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: false });
  const { dropped, touch } = fill(memory, 7);
  touch(0);
  expect(memory.hasRoom(7 * mebibyte)).toBe(true);
  const lease = memory.lease();
  const held = lease.allocateColumn(() => dropped.push(100));
  held.uint8(3 * mebibyte);
  fill(memory, 4);
  expect(dropped.length).toBeGreaterThan(3);
  expect(dropped[0]).toBe(1);
  expect(dropped).not.toContain(100);
  lease.end();
});

test("memory that is prepared is free as before, and belongs to no column", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: false });
  const lease = memory.lease();
  const held = lease
    .allocateColumn(() => undefined)
    .uint8(mebibyte)
    .fill(7);
  memory.prepare();
  expect(held.every((byte) => byte === 7)).toBe(true);
  const { dropped } = fill(memory, 6);
  expect(dropped).toEqual([]);
  memory.prepare();
  expect(dropped).toEqual([]);
  lease.end();
});

test("a column that nobody will ask for is evicted when the last lease on it ends", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: false });
  const evicted: string[] = [];
  const [first, second] = [memory.lease(), memory.lease()];
  const held = first.allocateColumn(() => evicted.push("held"));
  held.uint8(mebibyte);
  second.pin(held);
  memory.release(held);
  first.end();
  expect([evicted, held.byteLength > 0]).toEqual([[], true]);
  second.end();
  expect([evicted, held.byteLength]).toEqual([["held"], 0]);
});

/** Columns of a mebibyte each that are read by their numbers, and loaded where they are not cached. */
class Columns {
  readonly #cache: ColumnCache;
  readonly #cached = new Map<number, ColumnMemory>();
  readonly #usedMs = new Map<number, number>();

  constructor(cache: ColumnCache) {
    this.#cache = cache;
  }

  /** Reads columns one after the other; returns how many had to be loaded. */
  read(numbers: readonly number[]): number {
    let loaded = 0;
    for (const n of numbers) {
      vi.advanceTimersByTime(10);
      const lease = this.#cache.lease();
      const known = this.#cached.get(n);
      if (known !== undefined) lease.pin(known);
      else {
        loaded++;
        const onEvict = (usedMs: number) => {
          this.#cached.delete(n);
          this.#usedMs.set(n, usedMs);
        };
        const held = lease.allocateColumn(onEvict, this.#usedMs.get(n));
        held.uint8(mebibyte - 4_096);
        held.withScratch((scratch) => scratch.uint8(mebibyte / 2));
        lease.scratch.uint8(0.7 * mebibyte);
        this.#cached.set(n, held);
      }
      lease.end();
    }
    return loaded;
  }
}

function numbersOf(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

test("of columns that do not fit together and are read again and again, most of what fits stays", () => {
  const columns = new Columns(new ColumnCache({ bytesMax: 16 * mebibyte, keepsRecent: false }));
  const all = numbersOf(0, 30);
  expect(columns.read(all)).toBe(30);
  const loads = Array.from({ length: 12 }, () => columns.read(all));
  // 15 fit; some of them are for those that pass, and for what is worked with.
  for (const loaded of loads) expect(loaded).toBeGreaterThanOrEqual(15);
  for (const loaded of loads.slice(2)) expect(loaded).toBeLessThanOrEqual(20);
});

test("columns that are read between others which pass stay, and what is read anew takes the place of the oldest", () => {
  const columns = new Columns(new ColumnCache({ bytesMax: 16 * mebibyte, keepsRecent: false }));
  const hot = [100, 101, 102];
  const mixed = numbersOf(0, 30).flatMap((n) => [...hot, n]);
  columns.read(mixed);
  for (let round = 0; round < 5; round++) columns.read(mixed);
  expect(columns.read(hot)).toBe(0);
  const others = numbersOf(200, 212);
  expect(columns.read(others)).toBe(12);
  expect(columns.read(others)).toBe(0);
  // What comes back and is read twice stays, and at once where the others have not been used for a minute.
  const back = numbersOf(0, 12);
  expect(columns.read(back)).toBe(12);
  expect(columns.read(back)).toBeGreaterThan(0);
  expect(columns.read(back)).toBe(0);
  vi.advanceTimersByTime(61_000);
  expect(columns.read(others)).toBe(12);
  expect(columns.read(others)).toBe(0);
});

test("places a copy of any bytes, and retains those in the column's own memory without one", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: false });
  const lease = memory.lease();
  const [column, other] = [lease.allocateColumn(() => undefined), lease.allocateColumn(() => undefined)];
  const own = column.unfilled(64).fill(1);
  const { byteLength } = column;
  const retained = column.retain(own.subarray(8, 24));
  expect(retained.buffer).toBe(own.buffer);
  expect(retained.byteOffset).toBe(own.byteOffset + 8);
  expect(column.byteLength).toBe(byteLength);
  const foreign = [other.uint8(64), lease.scratch.uint8(64), new Uint8Array(64)];
  for (const [place, all] of [
    [column.place.bind(column), [own, ...foreign]],
    [column.retain.bind(column), foreign],
  ] as const)
    for (const bytes of all) {
      bytes.fill(2);
      const placed = place(bytes);
      bytes.fill(3);
      expect([...placed]).toEqual(Array(64).fill(2));
    }
  // A range that begins in the column's memory and ends after it is not the column's.
  const beyond = new Uint8Array(own.buffer, own.byteOffset + 32, 4_096);
  expect(column.retain(beyond).byteOffset).not.toBe(beyond.byteOffset);
  lease.end();
});
