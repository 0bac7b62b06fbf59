/** Text search of both implementations against a comparison at every position. */
import { describe, expect, test } from "vitest";
import { makeNeedle } from "../../../engine/kernels/needle.ts";
import { Random } from "../../../fixtures/random.ts";
import { hash64 } from "../../query/templates.ts";
import {
  bitAt,
  collectParts,
  dirtyBitmap,
  expectBits,
  expectSame,
  forEachCase,
  implementations,
  seed,
} from "./kernel-cases.ts";

/**
 * Small alphabets, so that needles occur often and overlap; with neighbours of letters in ASCII, and bytes above it
 * that wrong case folding would change.
 */
const alphabets = ["ab", "aAbB", "abc 019", "@AZ[`az{kK", "\u0000\u0020\u00e9\u00c9\u00ff\u007fe"].map(
  (text) => Buffer.from(text, "latin1"),
);
const needleLengths = [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 70];

describe.each(implementations)(`$name text search (SVC_SEED=${seed})`, ({ kernels, memory }) => {
  test("finds every position of a needle, a few at a time", () => {
    forEachCase(memory, (size, alignment, random) => {
      if (size > 5000) return;
      const text = randomText(size, random);
      const bytes = memory.bytes(text, alignment);
      for (const ignoreCase of [false, true]) {
        const needle = randomNeedle(text, ignoreCase, random);
        const from = random.below(size + 1);
        const to = from + random.below(size - from + 1);
        const truth = findPlaces(needle, ignoreCase, text, from, to);
        const prepared = makeNeedle(needle, ignoreCase);
        const hits = memory.words(new Uint32Array(1 + random.below(20)), random.below(16));
        const found = collectParts(hits, (next) =>
          kernels.findHits(bytes, Math.max(from, next), to, prepared, hits),
        );
        expectSame(found, truth);
      }
    });
  });

  test("finds the rows that contain a needle, and their number", () => {
    forEachCase(memory, (size, alignment, random) => {
      if (size > 5000) return;
      const text = randomText(size, random);
      // The rows do not cover all bytes; some are empty.
      const rows = random.below(size + 3);
      const cuts = Array.from({ length: rows + 1 }, () => random.below(size + 1)).sort((a, b) => a - b);
      const vector = { bytes: memory.bytes(text, alignment), offsets: memory.words(cuts, random.below(16)) };
      const found = dirtyBitmap(memory, rows, random.below(16));
      for (const ignoreCase of [false, true]) {
        const needle = randomNeedle(text, ignoreCase, random);
        const holds = cuts
          .slice(1)
          .map((to, row) => findPlaces(needle, ignoreCase, text, cuts[row]!, to).length > 0);
        const prepared = makeNeedle(needle, ignoreCase);
        expect(kernels.rowsHolding(vector, prepared, found)).toBe(holds.filter(Boolean).length);
        expectBits(found, holds, (is) => is);
        expect(kernels.countHolding(vector, prepared)).toBe(holds.filter(Boolean).length);
      }
    });
  });

  test("hashes texts as xxHash64", () => {
    forEachCase(memory, (size, alignment, random) => {
      if (size > 5000) return;
      const text = randomText(size, random);
      const cuts = Array.from({ length: 1 + random.below(8) }, () => random.below(size + 1)).sort(
        (a, b) => a - b,
      );
      const hashes = memory.words(new Uint32Array(cuts.length * 2 - 2).fill(7), random.below(16));
      kernels.hashTexts(
        { bytes: memory.bytes(text, alignment), offsets: memory.words(cuts, random.below(16)) },
        hashes,
      );
      const truth = cuts.slice(1).flatMap((to, i) => {
        const hash = hash64(text.subarray(cuts[i], to));
        return [Number(hash & 0xffff_ffffn), Number(hash >> 32n)];
      });
      expect([...hashes]).toEqual(truth);
    });
  });

  test("finds a needle at every distance from both ends, and nothing beyond them", () => {
    for (let size = 1; size < 150; size += 3) {
      for (const length of [1, 2, 5, 16, 21].filter((bytes) => bytes <= size)) {
        for (const place of new Set([0, 1, 15, 16, 17, 63, 64, size - length - 1, size - length])) {
          if (place < 0 || place + length > size) continue;
          const text = new Uint8Array(size).fill(0x2e);
          text.fill(0x78, place, place + length);
          const bytes = memory.bytes(text, place & 15);
          const hits = memory.words(new Uint32Array(4), 0);
          const needle = makeNeedle(new Uint8Array(length).fill(0x78), false);
          expect(kernels.findHits(bytes, 0, size, needle, hits)).toBe(1);
          expect(hits[0]).toBe(place);
          expect(kernels.findHits(bytes, place + 1, size, needle, hits)).toBe(0);
          expect(kernels.findHits(bytes, 0, place + length - 1, needle, hits)).toBe(0);
          memory.clear();
        }
      }
    }
  });

  test("searches long text of many rows for needles in nearly all of them and in nearly none", () => {
    const random = new Random(seed);
    const words = ["error", "ok", "timeout", "12345", "id=77", "Connection", "refused", "a", "É"];
    const lines = Array.from({ length: 9000 }, (_, row) =>
      row % 700 === 3
        ? "x".repeat(random.below(9000))
        : Array.from({ length: random.below(12) }, () => random.pickSkewed(words)).join(" "),
    );
    const bytes = Buffer.from(lines.join(""), "latin1");
    const offsets = [0];
    for (const line of lines) offsets.push(offsets.at(-1)! + line.length);
    const vector = { bytes: memory.bytes(bytes, 5), offsets: memory.words(offsets, 4) };
    const found = dirtyBitmap(memory, lines.length, 1);
    for (const text of [
      "e",
      "o",
      "77",
      "345 i",
      "rror ok",
      "connection",
      "refused a",
      "nowhere",
      "xx",
      "ok ok ok",
    ]) {
      for (const ignoreCase of [false, true]) {
        const held = lines.map((line) => (ignoreCase ? line.toLowerCase() : line).includes(text));
        const needle = makeNeedle(Buffer.from(text, "latin1"), ignoreCase);
        expect(kernels.rowsHolding(vector, needle, found), text).toBe(held.filter(Boolean).length);
        expectBits(found, held, (is) => is);
      }
    }
    memory.clear();
  });

  test("accepts needles longer than the text, and longer than the kernels' own memory", () => {
    const text = new Uint8Array(70_000).fill(0x61);
    text[69_000] = 0x62;
    const bytes = memory.bytes(text, 3);
    const offsets = memory.words([0, 33_000, 33_000, 70_000], 0);
    const found = dirtyBitmap(memory, 3, 0);
    const hits = memory.words(new Uint32Array(100), 0);
    for (const ignoreCase of [false, true]) {
      const long = makeNeedle(new Uint8Array(33_000).fill(0x61), ignoreCase);
      expect(kernels.rowsHolding({ bytes, offsets }, long, found)).toBe(2);
      expect(bitAt(found, 1)).toBe(false);
      expect(kernels.countHolding({ bytes, offsets }, long)).toBe(2);
      expect(kernels.findHits(bytes, 0, 33_009, long, hits)).toBe(10);
      const shorter = makeNeedle(new Uint8Array(20_000).fill(0x61), ignoreCase);
      expect(kernels.findHits(bytes, 0, 19_999, shorter, hits)).toBe(0);
      expect(kernels.findHits(bytes, 0, 20_000, shorter, hits)).toBe(1);
      expect(kernels.findHits(bytes, 49_001, 70_000, shorter, hits)).toBe(0);
      expect(kernels.findHits(bytes, 0, 20_000, shorter, memory.words([], 0))).toBe(0);
    }
    memory.clear();
  });
});

describe("a needle", () => {
  test("is probed by its rarest bytes", () => {
    expect(makeNeedle(Buffer.from("theZ%a"), false)).toMatchObject({ first: 4, second: 3, third: 1 });
    expect(makeNeedle(Buffer.from("aaaa"), false)).toMatchObject({ first: 3, second: 0, third: 1 });
    expect(makeNeedle(Buffer.from("x"), true)).toMatchObject({ first: 0, second: 0, third: 0 });
  });

  test("is neither empty nor, where case is ignored, in upper case", () => {
    expect(() => makeNeedle(new Uint8Array(0), false)).toThrow("empty");
    expect(() => makeNeedle(Buffer.from("aB"), true)).toThrow("capitals");
  });
});

function randomText(size: number, random: Random): Uint8Array {
  const alphabet = random.pick(alphabets);
  const text = Uint8Array.from({ length: size }, () => alphabet[random.below(alphabet.length)]!);
  // Runs of one byte make long needles occur somewhere.
  if (random.oneIn(3)) text.fill(alphabet[0]!, random.below(size + 1), random.below(size + 1));
  return text;
}

/** A needle that is mostly a piece of the text, sometimes with one byte changed. */
function randomNeedle(text: Uint8Array, ignoreCase: boolean, random: Random): Uint8Array {
  const length = Math.max(Math.min(random.pick(needleLengths), text.length), 1);
  const from = random.below(text.length - length + 1);
  const needle = text.length === 0 ? Uint8Array.of(0x61) : text.slice(from, from + length);
  if (random.oneIn(4)) needle[random.below(length)] = random.pick(["a", "b", "~", "\u00e9"]).charCodeAt(0);
  return ignoreCase ? needle.map(fold) : needle;
}

function findPlaces(
  needle: Uint8Array,
  ignoreCase: boolean,
  text: Uint8Array,
  from: number,
  to: number,
): number[] {
  const places: number[] = [];
  for (let at = from; at + needle.length <= to; at++) {
    if (needle.every((byte, i) => (ignoreCase ? fold(text[at + i]!) : text[at + i]) === byte))
      places.push(at);
  }
  return places;
}

function fold(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}
