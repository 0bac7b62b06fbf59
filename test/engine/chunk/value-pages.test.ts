import { expect, test } from "vitest";
import { Failure } from "../../../engine/failure.ts";
import { type ByteRange, listPageChecksums, openPages } from "../../../engine/files/value-pages.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const pageBytes = 4_096;

function drawRange(random: Random, length: number): ByteRange {
  const from = random.below(length + 1);
  return { from, to: Math.min(length, from + random.below(random.oneIn(4) ? 20_000 : 100)) };
}

function open(stored: Uint8Array, checksums: string, reads: ByteRange[] = []) {
  const readStored = (ranges: readonly ByteRange[]) => {
    reads.push(...ranges);
    return ranges.map(({ from, to }) => stored.subarray(from, to));
  };
  return openPages(stored.byteLength, checksums, readStored, "the filter");
}

test(`ranges of a value are read by whole pages, those that are near each other at once (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let round = 0; round < 200; round++) {
    const value = Uint8Array.from({ length: 1 + random.below(40_000) }, () => random.below(256));
    const reads: ByteRange[] = [];
    const pages = open(value, listPageChecksums(value), reads);
    const ranges = Array.from({ length: 1 + random.below(5) }, () => drawRange(random, value.length));
    expect(pages.read(ranges).map((bytes) => Buffer.from(bytes))).toEqual(
      ranges.map(({ from, to }) => Buffer.from(value.subarray(from, to))),
    );
    for (const { from, to } of reads) {
      expect(from % pageBytes).toBe(0);
      expect(ranges.some((range) => range.from >= from && range.from - from < pageBytes)).toBe(true);
      expect(ranges.some((range) => range.to <= to && to - range.to < pageBytes)).toBe(true);
    }
  }
});

test(`a byte that changed is noticed by every range of its page, and by no other (SVC_SEED=${seed})`, () => {
  const random = new Random(seed + 1);
  const value = Uint8Array.from({ length: 30_000 }, () => random.below(256));
  const checksums = listPageChecksums(value);
  for (let round = 0; round < 300; round++) {
    const at = random.below(value.length);
    const changed = value.slice();
    changed[at] = changed[at]! ^ (1 << random.below(8));
    const range = drawRange(random, value.length);
    const pagesFrom = Math.floor(range.from / pageBytes) * pageBytes;
    const pagesTo = Math.ceil(range.to / pageBytes) * pageBytes;
    const read = () => open(changed, checksums).read([range]);
    if (at >= pagesFrom && at < pagesTo) expect(read).toThrow(Failure);
    else expect(read()).toHaveLength(1);
  }
});

test("a range that passes the end, and pages without a checksum, are damage", () => {
  const value = new Uint8Array(10_000);
  const checksums = listPageChecksums(value);
  expect(() => open(value, checksums).read([{ from: 9_000, to: 10_001 }])).toThrow(/ends before/);
  expect(() => open(value, "").read([{ from: 0, to: 4 }])).toThrow(/ends before/);
  expect(() => open(value, checksums.slice(0, 4)).read([{ from: 0, to: 4 }])).toThrow(/ends before/);
});
