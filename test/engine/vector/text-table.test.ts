/** Dictionaries of texts: codes as a `Map` gives them, and bounded work where the texts were chosen to collide. */
import { describe, expect, test } from "vitest";
import { hashWithKey } from "../../../engine/vector/keyed-hash.ts";
import { hashBytes } from "../../../engine/vector/membership-filter.ts";
import { TextTable, toByteSource } from "../../../engine/vector/text-table.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

/** The multiplicative inverse of an odd number, modulo 2^32. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let i = 0; i < 5; i++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}

const rotateRight = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));
const [first, second] = [0xcc9e2d51, 0x1b873593];

function scramble(word: number): number {
  return Math.imul(rotateRight(Math.imul(word, first), 17), second);
}

function unscramble(scrambled: number): number {
  return Math.imul(rotateRight(Math.imul(scrambled, inverseOf(second)), 15), inverseOf(first));
}

/** Texts of eight bytes with the same MurmurHash3: the second word takes back what the first one did. */
function* collidingTexts(): Generator<Buffer> {
  const target = 0x12345678;
  for (let word = 0; ; word++) {
    const state = (Math.imul(rotateRight(scramble(word), 19), 5) + 0xe6546b64) | 0;
    const wanted = rotateRight(Math.imul(target - 0xe6546b64, inverseOf(5)), 13);
    const text = Buffer.alloc(8);
    text.writeInt32LE(word, 0);
    text.writeInt32LE(unscramble(wanted ^ state), 4);
    yield text;
  }
}

/** Counts reads of words, which are comparisons with texts of the table. */
class CountingView extends DataView<ArrayBuffer> {
  reads = 0;

  override getUint32(at: number, isLittleEndian?: boolean): number {
    this.reads++;
    return super.getUint32(at, isLittleEndian);
  }
}

function take(texts: Generator<Buffer>, count: number): Buffer[] {
  return Array.from({ length: count }, () => texts.next().value as Buffer);
}

describe(`a table of texts (SVC_SEED=${seed})`, () => {
  test("gives equal texts one code, in order, and finds no others", () => {
    const random = new Random(seed);
    const colliding = take(collidingTexts(), 3_000);
    const texts = Array.from({ length: 20_000 }, () =>
      random.oneIn(2) ? random.pick(colliding) : Buffer.from(random.hex(random.below(5))),
    );
    const table = new TextTable();
    const codes = new Map<string, number>();
    for (const text of texts) {
      const key = text.toString("latin1");
      if (!codes.has(key)) codes.set(key, codes.size);
      expect(table.intern(toByteSource(text), 0, text.length)).toBe(codes.get(key));
    }
    expect(table.size).toBe(codes.size);
    for (const [key, code] of codes) {
      const text = Buffer.from(key, "latin1");
      expect(table.find(toByteSource(text), 0, text.length)).toBe(code);
      expect(table.hashes()[code]).toBe(hashBytes(toByteSource(text).view, 0, text.length));
    }
    expect(table.find(toByteSource(Buffer.from("absent")), 0, 6)).toBe(-1);
  });

  test("compares a text with few others, whoever chose them", () => {
    const texts = take(collidingTexts(), 20_000);
    const hashes = texts.map((text) => hashBytes(toByteSource(text).view, 0, 8));
    expect(new Set(hashes).size).toBe(1);
    const bytes = Buffer.concat(texts);
    const view = new CountingView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
    const table = new TextTable();
    for (let at = 0; at < bytes.length; at += 8) table.intern({ bytes, view }, at, at + 8);
    expect(table.size).toBe(texts.length);
    expect(view.reads / texts.length).toBeLessThan(10);
  });
});

test("the hash with a key is HalfSipHash-1-3: the vectors of the Linux kernel's own test", () => {
  const wanted = [
    ...[0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6],
    ...[0x577999b1, 0xc839caed, 0xe4fa32cf, 0x959246ee, 0x6b28096c, 0x66dd9cd6, 0x16658a7c, 0xd0257b04],
  ];
  const bytes = Uint8Array.from({ length: wanted.length }, (_, i) => i);
  const view = new DataView(bytes.buffer);
  const hashes = wanted.map((_, length) => hashWithKey(view, 0, length, [0x03020100, 0x07060504]));
  expect(hashes).toEqual(wanted);
});
