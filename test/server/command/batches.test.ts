/** Inputs that are cut into batches of whole lines, and batches that go together. */

import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import type { Batch, GroupOptions } from "../../../server/command/client/batches.ts";
import { batchesOf, groupsOf } from "../../../server/command/client/batches.ts";
import type { Chunks } from "../../../server/command/client/input.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const targetBytes = 50;
const lineBytesMax = 120;

/** `fills`: chunks are written into the memory that is offered, as far as they fit. */
async function cut(text: string, sizes: readonly number[], fills = false) {
  const bytes = Buffer.from(text);
  async function* chunks(): Chunks {
    let offered: Uint8Array | undefined;
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length]!;
      if (fills && offered !== undefined && offered.length > 0) {
        const chunk = offered.subarray(0, Math.min(size, bytes.length - at));
        chunk.set(bytes.subarray(at, at + chunk.length));
        at += chunk.length;
        offered = yield chunk;
        continue;
      }
      const chunk = Uint8Array.from(bytes.subarray(at, at + size));
      offered = yield chunk;
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
        const filled = await cut(text, otherSizes, true);
        expect(filled.batches).toEqual(batches);
      },
    ),
    { numRuns: 500 },
  );
});

test("a line that is too long is left out and named, the others keep their numbers", async () => {
  const text = `a\nb\n${"x".repeat(1_000)}\nc\n${"y".repeat(1_000)}\nd`;
  for (const sizes of [[1], [7], [100], [5_000]]) {
    const { batches, long } = await cut(text, sizes);
    expect(await cut(text, sizes, true)).toEqual({ batches, long });
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

/** Batches of random lines, as they come from an input. */
function drawBatches(random: Random, count: number): Batch[] {
  let [offset, firstLine] = [0, 1];
  return Array.from({ length: count }, () => {
    const lines = 1 + random.below(5);
    const bytes = Buffer.from(`${"x".repeat(random.below(30))}\n`.repeat(lines));
    const batch = { bytes, offset, firstLine, lines };
    offset += bytes.length;
    firstLine += lines;
    return batch;
  });
}

async function* inTurn(batches: readonly Batch[], waitMs: (i: number) => number) {
  for (const [i, batch] of batches.entries()) {
    if (waitMs(i) > 0) await sleep(waitMs(i));
    yield batch;
  }
}

async function group(batches: AsyncGenerator<Batch>, options: GroupOptions): Promise<Batch[][]> {
  const groups: Batch[][] = [];
  for await (const each of groupsOf(batches, options)) groups.push(each);
  return groups;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const bytesIn = (batches: readonly Batch[]) => sum(batches.map(({ bytes }) => bytes.length));
const linesIn = (batches: readonly Batch[]) => sum(batches.map(({ lines }) => lines));

test(`groups hold all batches in order, within a size or of one batch (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed);
  for (let round = 0; round < 300; round++) {
    const batches = drawBatches(random, random.below(30));
    const size = { bytesMax: random.below(400), linesMax: random.below(20), atATime: 1 + random.below(4) };
    const total = random.oneIn(2) ? 0 : bytesIn(batches);
    const idleMs = random.oneIn(2) ? null : 60_000;
    const groups = await group(
      inTurn(batches, () => 0),
      { size, idleMs, bytesTotal: () => total },
    );
    expect(groups.flat()).toEqual(batches);
    for (const [i, each] of groups.entries()) {
      expect(each.length).toBeGreaterThan(0);
      const isWithin = bytesIn(each) <= size.bytesMax && linesIn(each) <= size.linesMax;
      expect(isWithin || each.length === 1).toBe(true);
      // Nothing tells how much more comes: a group ends where the next batch would not fit.
      const next = groups[i + 1]?.[0];
      if (total > 0 || next === undefined) continue;
      const fits = bytesIn([...each, next]) <= size.bytesMax && linesIn([...each, next]) <= size.linesMax;
      expect(fits).toBe(false);
    }
  }
});

test("groups of an input of known size are equal, and all are worked on at a time", async () => {
  const random = new Random(seed);
  for (let round = 0; round < 100; round++) {
    const [count, atATime] = [20 + random.below(200), 1 + random.below(4)];
    let offset = 0;
    const batches = Array.from({ length: count }, (_, i) => {
      const bytes = Buffer.alloc(100, "x");
      offset += 100;
      return { bytes, offset: offset - 100, firstLine: i + 1, lines: 1 };
    });
    const size = { bytesMax: 2_000 + random.below(3_000), linesMax: 1e6, atATime };
    const groups = await group(
      inTurn(batches, () => 0),
      { size, idleMs: null, bytesTotal: () => count * 100 },
    );
    const rounds = Math.ceil((count * 100) / (size.bytesMax * atATime));
    expect(groups.length).toBeLessThanOrEqual(rounds * atATime + 1);
    const full = groups.slice(0, -1).map(({ length }) => length);
    if (full.length > 0) expect(Math.max(...full) - Math.min(...full)).toBeLessThanOrEqual(1);
  }
});

test("a silent input makes a group of what has come", async () => {
  const batches = drawBatches(new Random(seed), 5);
  const size = { bytesMax: 1e9, linesMax: 1e9, atATime: 1 };
  const silentAt = (i: number) => (i === 2 || i === 4 ? 400 : 0);
  const options = { size, bytesTotal: () => 0 };
  const groups = await group(inTurn(batches, silentAt), { ...options, idleMs: 50 });
  expect(groups).toEqual([batches.slice(0, 2), batches.slice(2, 4), batches.slice(4)]);
  const waited = await group(inTurn(batches, silentAt), { ...options, idleMs: null });
  expect(waited).toEqual([batches]);
});
