import { expect, test } from "vitest";
import { Random } from "../../../../fixtures/random.ts";
import { BoundedBodies } from "../../../../server/ingest/pieces/shared-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

test("memory that is given back twice is lent once", () => {
  const bodies = new BoundedBodies(10_000_000);
  const first = bodies.take(1_000)!;
  bodies.giveBack(first);
  const second = bodies.take(1_000)!;
  bodies.giveBack(first);
  const third = bodies.take(1_000)!;
  expect(second.buffer).toBe(first.buffer);
  expect(third.buffer).not.toBe(second.buffer);
});

test("nothing else is taken", () => {
  const bodies = new BoundedBodies(10_000_000);
  const foreign = new Uint8Array(new SharedArrayBuffer(1_000));
  bodies.giveBack(foreign);
  bodies.giveBack(bodies.take(1_000)!.subarray(0, 10));
  expect(bodies.take(10)!.buffer).not.toBe(foreign.buffer);
});

test("a large body gets the large buffer that is free, whatever was given back last", () => {
  const bodies = new BoundedBodies(2_000_000);
  const [large, small] = [bodies.take(1_000_000)!, bodies.take(10_000)!];
  bodies.giveBack(large);
  bodies.giveBack(small);
  expect(bodies.take(900_000)!.buffer).toBe(large.buffer);
});

test("a body that there is no room for leaves the free buffers", () => {
  const bodies = new BoundedBodies(2_000_000);
  const free = bodies.take(500_000)!;
  bodies.giveBack(free);
  expect(bodies.take(1_900_000)).toBeUndefined();
  expect(bodies.take(400_000)!.buffer).toBe(free.buffer);
});

test(`no two users have the same memory, and all have as much as they asked for, within the bound (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  const bytesMax = 1_000_000;
  const bodies = new BoundedBodies(bytesMax);
  const used: Uint8Array[] = [];
  let refused = 0;
  for (let i = 0; i < 20_000; i++) {
    if (used.length > 0 && random.below(2) === 0) {
      bodies.giveBack(used.splice(random.below(used.length), 1)[0]!);
      continue;
    }
    const bytes = 1 + random.below(200_000);
    const taken = bodies.take(bytes);
    if (taken === undefined) {
      refused++;
      continue;
    }
    expect(taken.length).toBe(bytes);
    expect(used.some(({ buffer }) => buffer === taken.buffer)).toBe(false);
    used.push(taken);
    expect(used.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)).toBeLessThanOrEqual(bytesMax);
  }
  expect(refused).toBeGreaterThan(0);
});
