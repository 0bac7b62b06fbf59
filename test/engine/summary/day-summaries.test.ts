/** Counts over whole days, which are added up once and asked again, while chunks come, are merged and are left out by the range. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type AggregateQuery,
  type Field,
  type LogRow,
  openStore,
  type Store,
} from "../../../engine/index.ts";
import { textAt } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const dayNs = 86_400_000_000_000n;
const firstNs = 20_000n * dayNs;
const random = new Random(seed);
const dir = mkdtempSync(join(tmpdir(), "svc-digests-"));
const rows: LogRow[] = [];
let store: Store;
/** How often the rows of an attribute of many values were counted without reading one. */
let keptCounts = 0;

beforeAll(async () => {
  store = await openStore({ dir, threads: 2, now: () => Number((firstNs + 4n * dayNs) / 1_000_000n) });
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** Rows of the hours [from, to) of a day. */
async function append(day: bigint, from: number, to: number, count: number): Promise<void> {
  const added = Array.from({ length: count }, (): LogRow => {
    const second = from * 3_600 + random.below((to - from) * 3_600);
    const attributes: Record<string, string> = random.oneIn(5) ? {} : { service: `s${random.below(12)}` };
    if (random.oneIn(2)) attributes.id = String(random.below(100_000));
    const level = random.pick(["info", "INFO", "error", ""]);
    return {
      timeNs: firstNs + day * dayNs + BigInt(second) * 1_000_000_000n,
      level,
      message: "m",
      attributes,
    };
  });
  rows.push(...added);
  await store.append("logs", added);
}

const fields: (Field | undefined)[] = [
  undefined,
  { kind: "level" },
  { kind: "attribute", key: "service" },
  { kind: "attribute", key: "id" },
  { kind: "attribute", key: "none" },
];

function labelOf(field: Field | undefined, row: LogRow): string {
  if (field === undefined) return "";
  return field.kind === "level"
    ? row.level.toLowerCase()
    : (row.attributes[(field as { key: string }).key] ?? "");
}

async function expectCounts(): Promise<void> {
  const hour = dayNs / 24n;
  const ranges = [
    [0n, 4n * dayNs],
    [0n, dayNs],
    [dayNs, 3n * dayNs],
    [6n * hour, 2n * dayNs],
    [0n, dayNs + 12n * hour],
    [3n * hour, 5n * hour],
    [2n * dayNs, 2n * dayNs + 12n * hour],
  ] as const;
  const questions = ranges.flatMap((range) =>
    fields.flatMap((field) => [undefined, dayNs, hour * 12n].map((bucketNs) => ({ range, field, bucketNs }))),
  );
  // In any order: counts are kept when they are asked for again, with other ranges in between.
  const order = new Map(questions.map((question) => [question, random.next()]));
  for (const { range, field, bucketNs } of questions.sort((a, b) => order.get(a)! - order.get(b)!))
    await expectCount(range, field, bucketNs);
}

async function expectCount(
  [from, to]: readonly [bigint, bigint],
  field: Field | undefined,
  bucketNs: bigint | undefined,
): Promise<void> {
  const [fromNs, toNs] = [firstNs + from, firstNs + to];
  const query: AggregateQuery = {
    ...{ signal: "logs", fromNs, toNs, steps: [], aggregates: [{ op: "count" }] },
    groupBy: field === undefined ? [] : [field],
    ...(bucketNs === undefined ? {} : { bucketNs }),
  };
  const { labels, points, scanned } = await store.aggregate(query);
  const found = Array.from(points.groups, (group, i) => {
    const label = field === undefined ? "" : textAt(labels, group);
    return `${label} ${points.buckets[i]}: ${points.values[0]![i]}`;
  });
  const within = rows.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs);
  const counts = new Map<string, number>();
  for (const row of within) {
    const bucket = bucketNs === undefined ? 0n : row.timeNs / bucketNs - fromNs / bucketNs;
    const point = `${labelOf(field, row)} ${bucket}`;
    counts.set(point, (counts.get(point) ?? 0) + 1);
  }
  const expected = Array.from(counts, ([point, count]) => `${point}: ${count}`);
  expect([from, to, field, bucketNs, found.sort()]).toEqual([from, to, field, bucketNs, expected.sort()]);
  expect(scanned.rows + scanned.rowsSkipped).toBeGreaterThanOrEqual(within.length);
  if (scanned.rows === 0 && field?.kind === "attribute" && field.key === "id") keptCounts++;
}

test(`are what a loop over the rows gives, whenever they are asked (SVC_SEED=${seed})`, async () => {
  for (let round = 0; round < 4; round++) {
    for (const [day, from, to] of [
      [0n, 0, 24],
      [0n, round * 6, round * 6 + 6],
      [1n, 0, 6],
      [3n, 2, 20],
      [2n, 0, 3],
      [2n, 20, 24],
    ] as const) {
      await append(day, from, to, 200 + random.below(800));
      if (day === 2n || random.oneIn(2)) await store.seal();
    }
    await expectCounts();
    await store.seal();
    await expectCounts();
    await expectCounts();
  }
  expect(keptCounts).toBeGreaterThan(10);
});
