import { describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { BodyBlocks } from "../../../server/http/body-blocks.ts";
import { bodyBlockBytes } from "../../../server/http/limits.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

describe("a body's blocks", () => {
  test("are few, however small its chunks are", () => {
    const blocks = new BodyBlocks();
    for (let i = 0; i < 2_000_000; i++) blocks.add(Uint8Array.of(i % 251).buffer);
    expect(blocks.count).toBeLessThan(2_000_000 / bodyBlockBytes + 32);
    const body = blocks.join();
    expect(body.length).toBe(2_000_000);
    expect(body.every((byte, i) => byte === i % 251)).toBe(true);
  });

  test(`hold any chunks (SVC_SEED=${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 300; round++) {
      const blocks = new BodyBlocks();
      const sent: Buffer[] = [];
      for (let i = random.below(30); i >= 0; i--) {
        const size = random.pick([0, 1, 5, 1_000, bodyBlockBytes - 1, bodyBlockBytes, 200_000]);
        const chunk = Buffer.alloc(size, random.below(256));
        sent.push(chunk);
        blocks.add(new Uint8Array(chunk).buffer);
      }
      expect(Buffer.concat(sent).equals(blocks.join())).toBe(true);
      expect(blocks.bytes).toBe(Buffer.concat(sent).length);
    }
  });

  test("of one chunk are not copied again", () => {
    const blocks = new BodyBlocks();
    blocks.add(new ArrayBuffer(100_000));
    expect(blocks.join()).toBe(blocks.join());
  });
});
