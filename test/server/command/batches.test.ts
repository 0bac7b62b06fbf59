import fc from "fast-check";
import { expect, test } from "vitest";
import type { Batch } from "../../../server/command/client/batches.ts";
import { batchesOf } from "../../../server/command/client/batches.ts";

const targetBytes = 50;
const lineBytesMax = 120;

async function cut(text: string, sizes: readonly number[]) {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length]!;
      const chunk = Uint8Array.from(bytes.subarray(at, at + size));
      yield chunk;
      // Its memory is used for what comes next.
      chunk.fill(0);
      at += size;
    }
  }
  const batches: Batch[] = [];
  const long: number[] = [];
  const options = { targetBytes, lineBytesMax, idleMs: null, onLongLine: (line: number) => long.push(line) };
  for await (const batch of batchesOf(chunks(), options)) batches.push(batch);
  return { batches, long };
}

const line = fc.string({ maxLength: 70 }).map((text) => text.replaceAll("\n", " "));
const chunkSizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 5 });

test("batches are whole lines, all of them, with their places and numbers, however the input is cut into chunks", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.boolean(),
      chunkSizes,
      chunkSizes,
      async (lines, ends, sizes, otherSizes) => {
        const text = lines.join("\n") + (ends ? "\n" : "");
        const { batches } = await cut(text, sizes);
        expect(Buffer.concat(batches.map(({ bytes }) => bytes)).toString()).toBe(text);
        for (const [i, { bytes, offset, firstLine }] of batches.entries()) {
          expect(
            Buffer.from(text)
              .subarray(offset, offset + bytes.length)
              .equals(bytes),
          ).toBe(true);
          expect(firstLine).toBe(1 + Buffer.from(text).subarray(0, offset).toString().split("\n").length - 1);
          if (i < batches.length - 1) expect(bytes.at(-1)).toBe(10);
          const isOneLine = bytes.subarray(0, -1).indexOf(10) < 0;
          expect(bytes.length <= targetBytes || isOneLine).toBe(true);
        }
        const others = (await cut(text, otherSizes)).batches;
        expect(others.map(({ offset }) => offset)).toEqual(batches.map(({ offset }) => offset));
      },
    ),
    { numRuns: 500 },
  );
});

test("a line that is too long is left out and named, the others keep their numbers", async () => {
  const text = `a\nb\n${"x".repeat(1_000)}\nc\n${"y".repeat(1_000)}\nd`;
  for (const sizes of [[1], [7], [100], [5_000]]) {
    const { batches, long } = await cut(text, sizes);
    const kept = batches.flatMap(({ bytes, firstLine }) => {
      return bytes
        .toString()
        .split("\n")
        .map((part, i): [number, string] => [firstLine + i, part]);
    });
    const short = kept.filter(([, part]) => part.length === 1);
    expect(short).toEqual([
      [1, "a"],
      [2, "b"],
      [4, "c"],
      [6, "d"],
    ]);
    expect(long).toEqual([3, 5]);
  }
});
