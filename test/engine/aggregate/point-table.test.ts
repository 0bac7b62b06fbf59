/** Numbers of points, by a grid and by a hash table, against a map. */
import { expect, test } from "vitest";
import { type BucketSpan, PointTable } from "../../../engine/aggregate/point-table.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

interface Case {
  title: string;
  expected?: number;
  span?: BucketSpan;
  groups: number;
  /** Buckets are drawn from [first, first + count). */
  buckets: BucketSpan;
  points: number;
}

const cases: Case[] = [
  { title: "no span", groups: 50, buckets: { first: 0, count: 300 }, points: 20_000 },
  {
    title: "a span, groups that outgrow the grid's first room",
    span: { first: 700, count: 40 },
    groups: 3_000,
    buckets: { first: 700, count: 40 },
    points: 60_000,
  },
  {
    title: "one bucket and many groups",
    span: { first: 5, count: 1 },
    groups: 90_000,
    buckets: { first: 5, count: 1 },
    points: 200_000,
  },
  {
    title: "a bucket before the span",
    span: { first: 10, count: 50 },
    groups: 20,
    buckets: { first: 9, count: 51 },
    points: 5_000,
  },
  {
    title: "a bucket after the span",
    span: { first: -20, count: 50 },
    groups: 20,
    buckets: { first: -20, count: 51 },
    points: 5_000,
  },
  {
    title: "a grid that would be too large",
    span: { first: 0, count: 100_000 },
    groups: 4_000,
    buckets: { first: 0, count: 100_000 },
    points: 150_000,
  },
  {
    title: "a grid that becomes too large",
    span: { first: 0, count: 12_000 },
    groups: 4_000,
    buckets: { first: 0, count: 12_000 },
    points: 150_000,
  },
  {
    title: "a span without end",
    span: { first: 0, count: Number.POSITIVE_INFINITY },
    groups: 10,
    buckets: { first: 0, count: 4_000_000_000 },
    points: 10_000,
  },
  {
    title: "room for the expected points and more",
    expected: 1_000,
    span: { first: 3, count: 500 },
    groups: 90,
    buckets: { first: 3, count: 500 },
    points: 30_000,
  },
];

// Each table takes what the one before it leaves behind.
test.each([...cases, ...cases.toReversed()])(
  `points are numbered in the order of their first use: $title (SVC_SEED=${seed})`,
  (each) => {
    const random = new Random(seed, each.points);
    const { expected = 0, span } = each;
    const table = new PointTable({ expected, span });
    const numbers = new Map<string, number>();
    for (let i = 0; i < each.points; i++) {
      // Few at first, so that groups and buckets are met one after the other.
      const group = random.below(Math.min(each.groups, 1 + Math.ceil((i * 2 * each.groups) / each.points)));
      const bucket = each.buckets.first + random.below(each.buckets.count);
      const key = `${group} ${bucket}`;
      const wanted = numbers.get(key) ?? numbers.size;
      numbers.set(key, wanted);
      if (table.findOrAdd(group, bucket) !== wanted) throw new Error(`${key} is not point ${wanted}`);
      if (table.bucketOf(wanted) !== bucket) throw new Error(`bucket of ${key}`);
    }
    expect(table.count).toBe(numbers.size);
    expect(table.byteLength).toBeGreaterThanOrEqual(numbers.size * 16);
    const { groups, buckets } = table.finish();
    expect(Array.from(groups, (group, point) => `${group} ${buckets[point]}`)).toEqual([...numbers.keys()]);
  },
);
