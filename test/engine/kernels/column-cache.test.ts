/** What a thread keeps between queries. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ColumnCache } from "../../../engine/kernels/column-cache.ts";

const mebibyte = 2 ** 20;
const bytesMax = 8 * mebibyte;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Holdings of a mebibyte each, with their numbers in the order in which they were taken back. */
function filled(memory: ColumnCache, count: number): { dropped: number[]; touch: (i: number) => void } {
  const dropped: number[] = [];
  const held = Array.from({ length: count }, (_, i) => {
    const lease = memory.lease();
    const one = lease.hold(() => dropped.push(i));
    one.uint8(mebibyte - 4_096);
    lease.end();
    return one;
  });
  const touch = (i: number) => {
    const lease = memory.lease();
    lease.touch(held[i]!);
    lease.end();
  };
  return { dropped, touch };
}

test("memory that keeps what was used lately has no room for more, until that is a while ago", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: true });
  expect(memory.hasRoom(mebibyte)).toBe(true);
  const { dropped, touch } = filled(memory, 7);
  expect(memory.hasRoom(2 * mebibyte)).toBe(false);
  vi.advanceTimersByTime(50_000);
  for (let i = 2; i < 7; i++) touch(i);
  expect(memory.hasRoom(2 * mebibyte)).toBe(false);
  vi.advanceTimersByTime(15_000);
  expect(memory.hasRoom(4 * mebibyte)).toBe(false);
  vi.advanceTimersByTime(1_500);
  expect(memory.hasRoom(mebibyte)).toBe(true);
  filled(memory, 2);
  expect(dropped).toEqual([0, 1]);
});

test("other memory always has room: the least recently used goes, unless work still holds it", () => {
  const memory = new ColumnCache({ bytesMax, keepsRecent: false });
  const { dropped, touch } = filled(memory, 7);
  touch(0);
  expect(memory.hasRoom(7 * mebibyte)).toBe(true);
  const lease = memory.lease();
  const held = lease.hold(() => dropped.push(100));
  held.uint8(3 * mebibyte);
  filled(memory, 4);
  expect(dropped.length).toBeGreaterThan(3);
  expect(dropped[0]).toBe(1);
  expect(dropped).not.toContain(100);
  lease.end();
});
