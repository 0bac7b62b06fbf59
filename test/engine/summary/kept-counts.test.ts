/** Which counts of days are kept, for which chunks, and how many. */
import { expect, test } from "vitest";
import type { SealedChunkRef } from "../../../engine/chunk/chunk-ref.ts";
import type { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { openHeader } from "../../../engine/chunk/opened-header.ts";
import type { Field } from "../../../engine/index.ts";
import { DaySummaries, type UncountedDay } from "../../../engine/summary/day-summaries.ts";

/** Chunks of ten rows whose headers do not list the values of attributes. */
const open = async () =>
  ({
    ...openHeader(Buffer.from(JSON.stringify({ rows: 10, columns: ["user", ...others].map(makeColumn) }))),
    rows: 10,
    close: () => undefined,
  }) as unknown as ChunkView;
const makeColumn = (key: string) => ({ role: "attribute", key, present: 10 });
const others = Array.from({ length: 10 }, (_, i) => `other${i}`);

const refOf = (id: number, checksum = id): SealedChunkRef =>
  ({
    kind: "sealed",
    dir: "day",
    entry: { id, checksum, rows: 10, bytes: 100 },
  }) as unknown as SealedChunkRef;
const user: Field = { kind: "attribute", key: "user" };
const [one, two, three] = [refOf(1), refOf(2), refOf(3)];
const valuesOf = (count: number) => new Map(Array.from({ length: count }, (_, i) => [`u${i}`, 10] as const));

async function askTwice(summaries: DaySummaries, { field, refs }: UncountedDay): Promise<void> {
  for (let asked = 0; asked < 2; asked++) expect(await summaries.of(field, refs, open)).toBeUndefined();
}

test("counts are worth keeping for the chunks that were asked for twice, and hold for these alone", async () => {
  const summaries = new DaySummaries();
  const day = { field: user, refs: [one, two] };
  expect(summaries.isWorthCounting(day)).toBe(false);
  expect(await summaries.of(user, day.refs, open)).toBeUndefined();
  expect(summaries.isWorthCounting(day)).toBe(false);
  expect(await summaries.of(user, day.refs, open)).toBeUndefined();
  expect(summaries.isWorthCounting(day)).toBe(true);
  for (const refs of [[one], [one, three], [one, two, three], [one, refOf(2, 7)]]) {
    expect(summaries.isWorthCounting({ field: user, refs })).toBe(false);
    summaries.keep({ field: user, refs }, valuesOf(3));
    expect(summaries.isWorthCounting(day)).toBe(true);
  }
  summaries.keep(day, valuesOf(2));
  expect(summaries.isWorthCounting(day)).toBe(false);
  const found = await summaries.of(user, day.refs, open);
  expect([...found!.counts]).toEqual([...valuesOf(2)]);
  expect(found!.scanned).toMatchObject({ chunksSkipped: 2, rowsSkipped: 20, bytesSkipped: 200, rows: 0 });
  expect(await summaries.of(user, [one], open)).toBeUndefined();
  expect((await summaries.of(user, [two, one], open))?.counts.size).toBe(2);
  expect(await summaries.of(user, [one, two, three], open)).toBeUndefined();
  expect(await summaries.of(user, [one, two], open)).toBeUndefined();
});

test("levels and too many values are not kept", async () => {
  const summaries = new DaySummaries();
  const day = { field: user, refs: [one] };
  await askTwice(summaries, day);
  summaries.keep(day, valuesOf(16_385));
  expect(summaries.isWorthCounting(day)).toBe(false);
  expect(await summaries.of(user, [one], open)).toBeUndefined();
  const level = { field: { kind: "level" } as const, refs: [one] };
  await summaries.of(level.field, level.refs, open);
  await summaries.of(level.field, level.refs, open);
  expect(summaries.isWorthCounting(level)).toBe(false);
});

test("the counts that were used the longest ago are dropped where there are too many", async () => {
  const summaries = new DaySummaries();
  const refs = [one];
  for (const key of others.slice(0, 8)) {
    const day = { field: { kind: "attribute", key } as const, refs };
    await askTwice(summaries, day);
    summaries.keep(day, valuesOf(16_000));
  }
  const isKept = async (key: string) =>
    (await summaries.of({ kind: "attribute", key }, refs, open)) !== undefined;
  expect(await isKept(others[0]!)).toBe(true);
  const ninth = { field: { kind: "attribute", key: others[8]! } as const, refs };
  await askTwice(summaries, ninth);
  summaries.keep(ninth, valuesOf(16_000));
  expect(await isKept(others[0]!)).toBe(true);
  expect(await isKept(others[1]!)).toBe(false);
  expect(await isKept(others[8]!)).toBe(true);
});

test("a day that is forgotten leaves nothing, and others stay", async () => {
  const summaries = new DaySummaries();
  const day = { field: user, refs: [one] };
  const later = { field: user, refs: [{ ...one, dir: "day 2" }] };
  for (const each of [day, later]) {
    await askTwice(summaries, each);
    summaries.keep(each, valuesOf(2));
  }
  summaries.forget("day");
  expect(await summaries.of(user, day.refs, open)).toBeUndefined();
  expect((await summaries.of(user, later.refs, open))?.counts.size).toBe(2);
});
