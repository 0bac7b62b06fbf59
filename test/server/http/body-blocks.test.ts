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

  test(`hold what was announced, and what was announced wrongly (SVC_SEED=${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 300; round++) {
      const sent: Buffer[] = [];
      for (let i = random.below(40); i >= 0; i--) {
        const size = random.pick([0, 1, 5, 1_000, bodyBlockBytes, 300_000]);
        sent.push(Buffer.alloc(size, random.below(256)));
      }
      const body = Buffer.concat(sent);
      const announced = random.pick([body.length, body.length, 0, 1, body.length >> 1, body.length * 20]);
      const blocks = new BodyBlocks(announced);
      for (const chunk of sent) blocks.add(new Uint8Array(chunk).buffer);
      expect(body.equals(blocks.join())).toBe(true);
      expect(blocks.bytes).toBe(body.length);
      if (announced === body.length && body.length > 10_000_000) expect(blocks.count).toBe(1);
    }
  });

  test("of a large announced body are one, which is not copied again", () => {
    const blocks = new BodyBlocks(20_000_000);
    for (let i = 0; i < 200; i++) blocks.add(new Uint8Array(100_000).fill(i).buffer);
    expect(blocks.count).toBe(1);
    expect(blocks.join()).toBe(blocks.join());
    expect(blocks.join().every((byte, i) => byte === Math.floor(i / 100_000))).toBe(true);
  });

  test("in memory that was lent give it back when they are forgotten, and keep it for who has the body", () => {
    const lent: Uint8Array[] = [];
    const givenBack: Uint8Array[] = [];
    const memory = {
      take(bytes: number) {
        lent.push(new Uint8Array(bytes));
        return lent.at(-1)!;
      },
      giveBack: (block: Uint8Array) => void givenBack.push(block),
    };
    const [broken, whole] = [new BodyBlocks(1_000_000, memory), new BodyBlocks(1_000_000, memory)];
    for (let i = 0; i < 5; i++) broken.add(new ArrayBuffer(100_000));
    for (let i = 0; i < 10; i++) whole.add(new ArrayBuffer(100_000));
    expect(lent).toHaveLength(2);
    broken.clear();
    broken.clear();
    expect(givenBack).toEqual([lent[0]]);
    expect(whole.join()).toBe(lent[1]);
    expect(givenBack).toHaveLength(1);
  });

  test(`hold any chunks in shared memory (SVC_SEED=${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 100; round++) {
      const chunks = Array.from({ length: 1 + random.below(40) }, () => {
        const chunk = Buffer.alloc(random.pick([0, 1, 5, 13, 1_000, 65_483]));
        return chunk.map(() => random.below(256));
      });
      const body = Buffer.concat(chunks);
      const memory = {
        take: (bytes: number) => new Uint8Array(new SharedArrayBuffer(bytes + 16), random.below(16), bytes),
        giveBack: () => undefined,
      };
      const blocks = new BodyBlocks(body.length, memory);
      for (const chunk of chunks) blocks.add(new Uint8Array(chunk).buffer);
      expect(Buffer.from(blocks.join()).equals(body)).toBe(true);
    }
  });

  test("of one chunk are not copied again", () => {
    const blocks = new BodyBlocks();
    blocks.add(new ArrayBuffer(100_000));
    expect(blocks.join()).toBe(blocks.join());
  });
});
