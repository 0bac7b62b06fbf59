import { expect, test } from "vitest";
import { listPageChecksums, openPages } from "../../../engine/files/value-pages.ts";
import { plainKernels } from "../../../engine/kernels/plain.ts";
import { PagedTokenFilter } from "../../../engine/template/paged-token-filter.ts";
import { findLongTokens, TokenFilter, TokenFilterBuilder } from "../../../engine/template/token-filter.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

const drawHex = (random: Random, length: number) =>
  Array.from({ length }, () => random.below(16).toString(16)).join("");

/** Texts of which most have a long token, and some several. */
function drawText(random: Random): Buffer {
  const id = random.oneIn(3)
    ? String(1e9 + random.below(1e9))
    : `${drawHex(random, 8)}-${drawHex(random, 16)}`;
  return Buffer.from(random.oneIn(5) ? `short ${random.below(99)}` : `id ${id} of ${drawHex(random, 12)}`);
}

test(`pages of a filter tell the blocks that the whole filter tells (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (const [texts, perBlock, head] of [
    [3_000, 1_024, 0],
    [2_000, 4, 57_128],
    [300, 1, 8],
    [40, 1_024, 0],
  ] as const) {
    const all = Array.from({ length: texts }, () => drawText(random));
    const builder = new TokenFilterBuilder(perBlock);
    for (const text of all) builder.add(text, 0, text.length);
    const tokens = builder.finish();
    const filter = Buffer.concat([Buffer.alloc(head, 0xff), tokens]);
    const whole = new TokenFilter(new Uint8Array(tokens), plainKernels);
    const checksums = listPageChecksums(filter);
    const readStored = (ranges: readonly { from: number; to: number }[]) =>
      ranges.map(({ from, to }) => filter.subarray(from, to));
    const paged = new PagedTokenFilter(openPages(filter.length, checksums, readStored, "a filter"), head);
    let found = 0;
    for (let i = 0; i < 300; i++) {
      const text = random.oneIn(2) ? random.pick(all) : drawText(random);
      for (const token of findLongTokens(text)) {
        const blocks = whole.findBlocks(token);
        expect(paged.findBlocks(token)).toEqual(blocks);
        expect(paged.mayContain(token)).toBe(blocks.length > 0);
        found += blocks.length;
      }
    }
    expect(found).toBeGreaterThan(10);
  }
});
