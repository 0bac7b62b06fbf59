import { constants, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unpack } from "../../../server/api/content-encoding.ts";
import { ZstdFrames } from "../../../server/api/zstd-frame.ts";

/** Contents of every kind: none, raw, repeated bytes, text; with and without checksum and size. */
const frame = fc
  .record({
    content: fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 0, max: 400_000 }).map((length) => new Uint8Array(length).fill(7)),
      fc
        .integer({ min: 0, max: 5_000 })
        .map((n) => Buffer.from(Array.from({ length: n }, (_, i) => `line ${i * 7919}\n`).join(""))),
    ),
    level: fc.integer({ min: 1, max: 9 }),
    checksum: fc.boolean(),
    contentSize: fc.boolean(),
  })
  .map(({ content, level, checksum, contentSize }) => {
    const params = {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_checksumFlag]: checksum,
      [constants.ZSTD_c_contentSizeFlag]: contentSize,
    };
    return { content, packed: zstdCompressSync(content, { params }) };
  });

const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

describe("zstd streams of several frames", () => {
  test("are whole at the ends of frames and nowhere else, however they are cut into chunks", () => {
    fc.assert(
      fc.property(
        fc.array(frame, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 5_000 }),
        (frames, step) => {
          const stream = Buffer.concat([skippable, ...frames.map(({ packed }) => packed)]);
          const walker = new ZstdFrames();
          const ends: number[] = [];
          for (let at = 0; at < stream.length; at += step) {
            ends.push(...walker.push(stream.subarray(at, at + step)).map((end) => at + end));
          }
          let end = skippable.length;
          const expected = [end, ...frames.map(({ packed }) => (end += packed.length))];
          expect(ends).toEqual(expected);
          expect(walker.complete).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("unpack to all of their frames, and are refused when cut short anywhere", () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 3 }), fc.nat(), (frames, at) => {
        const stream = Buffer.concat([...frames.map(({ packed }) => packed), skippable]);
        const content = Buffer.concat(frames.map((one) => one.content));
        expect(Buffer.compare(unpack(stream, "zstd", 1e8), content)).toBe(0);
        const cut = stream.subarray(0, 1 + (at % (stream.length - 1)));
        const walker = new ZstdFrames();
        walker.push(cut);
        if (walker.complete) return;
        expect(() => unpack(cut, "zstd", 1e8)).toThrow(/not whole zstd/);
      }),
      { numRuns: 200 },
    );
  });

  test("are refused where something else stands after a frame", () => {
    const stream = Buffer.concat([zstdCompressSync("a"), Buffer.from("and more")]);
    expect(() => unpack(stream, "zstd", 1e8)).toThrow(/not whole zstd: Unknown frame descriptor/);
  });

  test("of very many frames are refused before they are unpacked", () => {
    const empty = zstdCompressSync("");
    const stream = Buffer.alloc(empty.length * 10_001);
    for (let at = 0; at < stream.length; at += empty.length) empty.copy(stream, at);
    expect(() => unpack(stream, "zstd", 1e8)).toThrow("more than 10000 zstd frames");
  });

  test("may not unpack to more than the cap together", () => {
    const part = zstdCompressSync(new Uint8Array(60));
    expect(() => unpack(Buffer.concat([part, part]), "zstd", 100)).toThrow("more than 100 bytes");
  });
});
