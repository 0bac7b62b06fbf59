/**
 * Batches whose days are chunks ready for disk, among ordinary ones: answers are those of a loop over the rows, in every
 * state that the rows pass through.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openBatch } from "../../engine/batch/batch.ts";
import { fullChunkCaps } from "../../engine/chunk/chunk-caps.ts";
import { isPackedPart } from "../../engine/chunk/part.ts";
import {
  BatchBuilder,
  type FoundRow,
  type LogRow,
  openStore,
  type RowOrder,
  type RowSignal,
  type Step,
  type Store,
  type StoreOptions,
  textAt,
  verifyStore,
} from "../../engine/index.ts";
import { packedRowsMin } from "../../engine/limits.ts";
import { Random } from "../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const dayNs = 86_400_000_000_000n;
const startNs = 19_900n * dayNs;
const nowMs = 20_000 * 86_400_000;
const everything = { signal: "logs" as const, fromNs: startNs, toNs: startNs + 4n * dayNs };

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "svc-packed-"));
});
afterEach(() => rmSync(base, { recursive: true }));

/** So many rows of a day, out of order, many of one time. */
function drawRows(random: Random, day: number, count: number): LogRow[] {
  return Array.from({ length: count }, () => {
    const attributes: Record<string, string> = { took: String(random.below(500)) };
    if (random.oneIn(3)) attributes.pod = `pod-${random.below(7)}`;
    return {
      timeNs: startNs + BigInt(day) * dayNs + BigInt(random.below(20_000)) * 1_000_000_001n,
      level: random.pick(["info", "WARN", ""]),
      message: `order ${random.below(300)} paid`,
      attributes,
    };
  });
}

/** Rows of several days, mixed; the rows of each day keep their order. */
function mix(random: Random, lists: readonly (readonly LogRow[])[]): LogRow[] {
  const left = lists.map((list) => list.slice());
  const mixed: LogRow[] = [];
  for (let open = left; open.length > 0; open = open.filter((list) => list.length > 0)) {
    const list = random.pick(open);
    mixed.push(...list.splice(0, 1 + random.below(400)));
  }
  return mixed;
}

/** A batch whose large days are chunks of at most so many rows. */
function pack(rows: readonly LogRow[], rowsMax: number, signal: RowSignal = "logs") {
  const builder = new BatchBuilder(signal, { nowMs });
  const refused = rows.filter((row) => builder.addLogRow(row) !== undefined);
  expect(refused).toEqual([]);
  const batch = builder.finish({ packedCaps: { ...fullChunkCaps, rowsMax } });
  builder.release();
  const perDay = Map.groupBy(rows, ({ timeNs }) => Number(timeNs / dayNs));
  for (const { day, bytes, rows: inPart } of openBatch(batch.bytes)) {
    expect(isPackedPart(bytes)).toBe(perDay.get(day)!.length >= packedRowsMin);
    if (isPackedPart(bytes)) expect(inPart).toBeLessThanOrEqual(rowsMax);
  }
  return batch;
}

/** Opened so, a store does no work in the background: its clock stands before the time at which it may begin. */
const open = (dir: string, options: Omit<StoreOptions, "dir"> = {}) =>
  openStore({ dir, threads: 2, now: () => nowMs, elapsed: () => -1, ...options });

interface Numbered extends LogRow {
  arrival: number;
  /** Nanoseconds since `startNs`. */
  at: number;
  line: string;
}

/** Rows of one time are in the order of arrival. */
function newestFirst(rows: readonly Numbered[]): Numbered[] {
  return rows.toSorted((a, b) => b.at - a.at || a.arrival - b.arrival);
}

function lineOf({ timeNs, level, message, attributes, arrival }: FoundRow): string {
  return `${arrival} ${timeNs} ${level} ${message} ${attributes.took} ${attributes.pod}`;
}

function number(row: LogRow, arrival: number): Numbered {
  return { ...row, arrival, at: Number(row.timeNs - startNs), line: lineOf({ ...row, arrival }) };
}

/** Comparing whole lists takes long. */
function expectSame(found: Iterable<FoundRow>, wanted: readonly Numbered[]): void {
  const lines = Array.from(found, lineOf);
  const at = wanted.findIndex(({ line }, i) => line !== lines[i]);
  expect([at, lines[at], lines.length]).toEqual([-1, wanted[at]?.line, wanted.length]);
}

/** Step and the same as a function. */
function drawSteps(random: Random): { steps: Step[]; passes: (row: LogRow) => boolean } {
  const about = random.below(300);
  const text = `order ${about}`;
  const pod = `pod-${random.below(7)}`;
  const filters = [
    () => ({ steps: [], passes: () => true }),
    () => ({
      steps: [
        {
          kind: "filter",
          filter: { kind: "contains", field: { kind: "message" }, text, ignoreCase: false },
        },
      ],
      passes: ({ message }: LogRow) => message.includes(text),
    }),
    () => ({
      steps: [
        { kind: "filter", filter: { kind: "equals", field: { kind: "attribute", key: "pod" }, value: pod } },
      ],
      passes: ({ attributes }: LogRow) => attributes.pod === pod,
    }),
    () => ({
      steps: [
        {
          kind: "filter",
          filter: { kind: "compares", field: { kind: "attribute", key: "took" }, op: "<", number: about },
        },
      ],
      passes: ({ attributes }: LogRow) => Number(attributes.took) < about,
    }),
  ] satisfies (() => { steps: Step[]; passes: (row: LogRow) => boolean })[];
  return random.pick<() => { steps: Step[]; passes: (row: LogRow) => boolean }>(filters)();
}

/** Every row, and in a few random queries those that pass. `rows` are in the order in which they were appended. */
async function check(store: Store, rows: readonly Numbered[], random: Random): Promise<void> {
  expect(store.arrivalMax).toBe(rows.length);
  expect(store.stats()).toMatchObject({ rows: rows.length, damage: [] });
  await checkArrived(store, rows);
  const inOrder = newestFirst(rows);
  const page = await store.search({ ...everything, steps: [], limit: 4_000 });
  expectSame(page.rows, inOrder.slice(0, 4_000));
  const { rows: next } = await store.search({
    ...everything,
    steps: [],
    limit: 2_000,
    after: page.rows.at(-1)!,
  });
  expectSame(next, inOrder.slice(4_000, 6_000));
  for (let query = 0; query < 3; query++) {
    const { steps, passes } = drawSteps(random);
    const fromNs = startNs + BigInt(random.below(3 * 86_400)) * 1_000_000_000n;
    const range = { ...everything, fromNs: query % 2 === 0 ? startNs : fromNs, steps };
    const wanted = inOrder.filter((row) => row.timeNs >= range.fromNs && passes(row));
    const order: RowOrder = query % 3 === 0 ? "oldest" : "newest";
    const found = await store.search({ ...range, order, limit: 50 });
    const first = (order === "oldest" ? wanted.toReversed() : wanted).slice(0, 50);
    expectSame(found.rows, first);
    expect(found.more).toBe(wanted.length > 50);
    await checkSums(store, range, wanted);
  }
}

async function checkArrived(store: Store, rows: readonly Numbered[]): Promise<void> {
  const selections = [{ steps: [], fromNs: 0n, rowsMax: 20_000 }];
  const found: FoundRow[] = [];
  for (let after = 0; after < store.arrivalMax; ) {
    const [page] = await store.arrived({ signal: "logs", after, through: store.arrivalMax, selections });
    found.push(...page!.rows);
    expect(page!.through).toBeGreaterThan(after);
    after = page!.through;
  }
  expectSame(found, rows);
}

/** Sums by level and hour, and counts of fields. */
async function checkSums(
  store: Store,
  range: { signal: "logs"; fromNs: bigint; toNs: bigint; steps: Step[] },
  rows: readonly Numbered[],
): Promise<void> {
  const hourNs = 3_600_000_000_000n;
  const took = { field: { kind: "attribute", key: "took" } } as const;
  const { points, labels } = await store.aggregate({
    ...range,
    ...{ groupBy: [{ kind: "level" }], bucketNs: hourNs },
    aggregates: [{ op: "count" }, { op: "sum", of: took }],
  });
  const counted = Array.from(points.groups, (group, i) => {
    const bucket = Number(range.fromNs / hourNs) + points.buckets[i]!;
    return `${textAt(labels, group)} ${bucket} ${points.values[0]![i]} ${points.values[1]![i]}`;
  });
  const groups = Map.groupBy(rows, ({ level, timeNs }) => `${level.toLowerCase()} ${timeNs / hourNs}`);
  const wanted = [...groups].map(([group, of]) => {
    return `${group} ${of.length} ${of.reduce((sum, { attributes }) => sum + Number(attributes.took), 0)}`;
  });
  expect(counted.sort()).toEqual(wanted.sort());
  const fields = await store.countFields(range);
  const pods = rows.filter(({ attributes }) => attributes.pod !== undefined).length;
  const attributes = [
    ...(pods > 0 ? [["pod", pods]] : []),
    ...(rows.length > 0 ? [["took", rows.length]] : []),
  ];
  expect({ ...fields, scanned: null, attributes: [...fields.attributes].sort() }).toEqual({
    rows: rows.length,
    levels: rows.filter(({ level }) => level !== "").length,
    ...{ attributes, isWhole: true, scanned: null },
  });
}

/** Copies a data folder as a crash of the machine would leave it now. */
function crash(dir: string): string {
  const copy = mkdtempSync(join(base, "crash-"));
  expect(spawnSync("cp", ["-a", `${dir}/.`, copy]).status).toBe(0);
  return copy;
}

test("hold chunks of the days that have enough rows, and of no other", () => {
  const random = new Random(seed);
  pack(mix(random, [drawRows(random, 0, packedRowsMin), drawRows(random, 1, packedRowsMin - 1)]), 6_000);
});

test(`give the answers of a loop before and after sealing, a crash and merging (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed);
  const dir = join(base, "data");
  let store = await open(dir);
  const rows: Numbered[] = [];
  const append = async (more: readonly LogRow[], rowsMax?: number) => {
    for (const row of more) rows.push(number(row, rows.length + 1));
    if (rowsMax === undefined) await store.append("logs", more);
    else expect(await store.appendEncoded(pack(more, rowsMax))).toMatchObject({ rows: more.length });
  };

  // One day becomes chunks, the other one, which has fewer rows, does not.
  await append(drawRows(random, 1, 90));
  await append(mix(random, [drawRows(random, 0, packedRowsMin), drawRows(random, 1, 2_000)]), 6_000);
  await append(mix(random, [drawRows(random, 0, 50), drawRows(random, 2, 40)]));
  expect(existsSync(join(dir, "logs"))).toBe(false);
  await check(store, rows, random);

  const copy = await open(crash(dir));
  expect(copy.stats().unsealedRows).toBe(rows.length);
  await check(copy, rows, random);
  await copy.seal();
  await check(copy, rows, random);
  await copy.close();

  await store.seal();
  expect(store.stats().unsealedRows).toBe(0);
  const { chunks } = store.stats().signals.logs;
  await check(store, rows, random);

  // So many small chunks are merged.
  await append(mix(random, [drawRows(random, 0, packedRowsMin + 700), drawRows(random, 1, 10)]), 1_500);
  await append(drawRows(random, 0, 30));
  await check(store, rows, random);
  const halfDir = crash(dir);
  const half = await open(halfDir);
  await check(half, rows, random);
  await half.close();
  expect((await verifyStore(halfDir)).damage).toEqual([]);
  await store.seal();
  expect(store.stats().signals.logs.chunks).toBeLessThan(chunks + packedRowsMin / 1_500);
  await check(store, rows, random);

  await append(drawRows(random, 0, 20));
  await store.close();
  store = await open(dir);
  await check(store, rows, random);
  await store.seal();
  await check(store, rows, random);
  await store.close();
  expect(await verifyStore(dir)).toMatchObject({ rows: rows.length, damage: [] });
}, 60_000);

test(`are sealed in the background, and keep the arrival numbers of what came between them (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed + 1);
  // Merges would lower the number of chunks again.
  const store = await open(join(base, "data"), { elapsed: () => performance.now(), mergesLater: true });
  const rows: LogRow[] = [];
  for (let batch = 0; batch < 3; batch++) {
    // Other signals use up arrival numbers, too.
    const span = { timeNs: startNs, level: "", message: "span", attributes: {} };
    await store.append("traces", [span]);
    // So many small parts are compacted.
    const few = drawRows(random, 0, 20);
    await Promise.all(few.map((row) => store.append("logs", [row])));
    const many = drawRows(random, 0, packedRowsMin);
    await store.appendEncoded(pack(many, 7_000));
    rows.push(...few, ...many);
  }
  await expect.poll(() => store.stats().signals.logs.chunks, { timeout: 20_000 }).toBeGreaterThanOrEqual(9);
  const perBatch = packedRowsMin + 20;
  const numbered = rows.map((row, i) => number(row, i + 2 + Math.floor(i / perBatch)));
  await checkArrived(store, numbered);
  await store.close();
}, 60_000);
