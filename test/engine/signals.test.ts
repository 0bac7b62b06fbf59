/** Rows of several signals over the same days in one store: signals do not affect each other. */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type LogRow,
  openStore,
  type RowSignal,
  readInventory,
  type Store,
  textAt,
  verifyStore,
} from "../../engine/index.ts";
import { recordHeaderBytes, scanSegment, writeRecordHeader } from "../../engine/journal/journal-record.ts";
import { runSteps } from "../query/naive.ts";
import { arbitraryRow, arbitrarySteps } from "./arbitrary.ts";
import { printBigInt, sample, seed } from "./datasets.ts";

const rowSignals = ["logs", "traces", "profiles", "kubernetes_resources"] as const satisfies RowSignal[];
const dayMs = 86_400_000;
const dayNs = BigInt(dayMs) * 1_000_000n;
const firstDay = 19_800;
const fromNs = BigInt(firstDay) * dayNs;
const toNs = fromNs + 2n * dayNs;
const everything = { fromNs: 0n, toNs: 1n << 62n, steps: [] };

type Rows = Record<(typeof rowSignals)[number], LogRow[]>;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-signals-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Appends rows [from, to) of each signal in turns, so that arrival numbers and journal records interleave. */
async function append(store: Store, rows: Rows, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 9) {
    await Promise.all(
      rowSignals.map((signal) => store.append(signal, rows[signal].slice(at, Math.min(to, at + 9)))),
    );
  }
}

/** Newest first. The sort is stable, so rows of one time stay in the order in which they were appended. */
function newestFirst(rows: readonly LogRow[]): LogRow[] {
  return rows.toSorted((a, b) => (a.timeNs > b.timeNs ? -1 : a.timeNs < b.timeNs ? 1 : 0));
}

function comparable({ timeNs, level, message, attributes }: LogRow): unknown {
  return [timeNs, level, message, Object.entries(attributes).sort()];
}

async function checkSearches(store: Store, rows: LogRow[], signal: RowSignal, salt: number): Promise<void> {
  const anySteps = fc.tuple(fc.constantFrom(0n, dayNs), arbitrarySteps(rows));
  for (const [later, steps] of sample(anySteps, 12, salt)) {
    const query = { signal, fromNs: fromNs + later, toNs, steps };
    const context = JSON.stringify(query, printBigInt);
    const wanted = runSteps(
      steps,
      newestFirst(rows).filter(({ timeNs }) => timeNs >= query.fromNs),
    );
    const found = await store.search({ ...query, limit: 1_000 });
    expect(found.rows.map(comparable), context).toEqual(wanted.map(comparable));
    const { points } = await store.aggregate({ ...query, groupBy: [], aggregates: [{ op: "count" }] });
    expect(points.values[0]![0] ?? 0, context).toBe(wanted.length);
    let scanned = 0;
    for await (const batch of store.scan(query)) scanned += batch.numRows;
    expect(scanned, context).toBe(wanted.length);
  }
}

async function checkLevels(store: Store, rows: LogRow[], signal: RowSignal): Promise<void> {
  const { groups, labels, points } = await store.aggregate({
    signal,
    ...everything,
    groupBy: [{ kind: "level" }],
    aggregates: [{ op: "count" }],
  });
  const counted = Array.from({ length: groups }, (_, group) => [
    textAt(labels, group),
    points.values[0]![points.groups.indexOf(group)],
  ]);
  const wanted = Map.groupBy(rows, ({ level }) => level.toLowerCase());
  expect(counted.sort()).toEqual([...wanted].map(([level, of]) => [level, of.length]).sort());
}

async function checkAll(store: Store, rows: Rows, salt: number): Promise<void> {
  for (const [i, signal] of rowSignals.entries()) {
    const own = rows[signal];
    await checkSearches(store, own, signal, salt + i);
    await checkLevels(store, own, signal);
    const keys = new Set(own.flatMap(({ attributes }) => Object.keys(attributes)));
    expect(new Set(store.attributeKeys(signal, fromNs, toNs).keys)).toEqual(keys);
    expect(store.stats().signals[signal].rows).toBe(own.length);
  }
  const { rows: all, signals, damage } = store.stats();
  expect(all).toBe(rowSignals.reduce((sum, signal) => sum + signals[signal].rows, 0));
  expect(damage).toEqual([]);
}

test(`queries of each signal find its own rows in memory, sealed, merged and after a restart (SVC_SEED=${seed})`, async () => {
  const rows = Object.fromEntries(
    rowSignals.map((signal, i) => {
      const own = sample(arbitraryRow(fromNs, toNs - fromNs), 90, 500 + i);
      return [signal, own.map((row) => ({ ...row, attributes: { ...row.attributes, [signal]: "1" } }))];
    }),
  ) as Rows;
  const upTo = (count: number) =>
    Object.fromEntries(rowSignals.map((signal) => [signal, rows[signal].slice(0, count)])) as Rows;
  let store = await openStore({ dir, threads: 2 });
  await append(store, rows, 0, 45);
  await checkAll(store, upTo(45), 1_000);
  for (let at = 45; at < 81; at += 2) {
    await append(store, rows, at, at + 2);
    await store.seal();
  }
  // Each seal writes a chunk for each day of its rows; merging leaves fewer, and never sixteen small ones in a day.
  for (const signal of rowSignals) {
    let written = 0;
    for (let at = 45; at < 81; at += 2) {
      const sealed = rows[signal].slice(at === 45 ? 0 : at, at + 2);
      written += new Set(sealed.map(({ timeNs }) => timeNs / 86_400_000_000_000n)).size;
    }
    const { chunks } = store.stats().signals[signal];
    expect(chunks).toBeLessThan(Math.min(written, 2 * 16));
  }
  await checkAll(store, upTo(81), 2_000);
  await append(store, rows, 81, 90);
  await checkAll(store, rows, 3_000);
  await store.close();
  store = await openStore({ dir, threads: 2 });
  expect(store.stats().unsealedRows).toBe(9 * rowSignals.length);
  await checkAll(store, rows, 4_000);
  await store.close();
  expect(await verifyStore(dir)).toMatchObject({ rows: 81 * rowSignals.length, damage: [] });
  const inventories = await readInventory(dir);
  expect(inventories.map(({ signal, rows: stored }) => [signal, stored])).toEqual(
    rowSignals.map((signal) => [signal, 81]),
  );
}, 60_000);

/** Rows spread over one day, with text that does not compress away. */
function rowsOfDay(day: number, count: number, salt: string): LogRow[] {
  return Array.from({ length: count }, (_, i) => ({
    timeNs: fromNs + BigInt(day) * dayNs + (BigInt(i) * dayNs) / BigInt(count),
    level: "info",
    message: createHash("sha256").update(`${salt} ${day} ${i}`).digest("base64"),
    attributes: { day: String(day) },
  }));
}

async function daysOf(store: Store, signal: RowSignal): Promise<Record<string, number>> {
  const { rows } = await store.search({ signal, ...everything, limit: 100_000 });
  const days = Map.groupBy(rows, ({ attributes }) => attributes.day!);
  return Object.fromEntries([...days].map(([day, of]) => [day, of.length]));
}

test("a data folder has folders only for signals that got rows", async () => {
  const store = await openStore({ dir, threads: 1 });
  await store.append("logs", rowsOfDay(0, 10, "a"));
  await store.seal();
  expect(readdirSync(dir).sort()).toEqual(["format", "holder", "journal", "lock", "logs"]);
  await store.append("traces", rowsOfDay(0, 10, "a"));
  expect(existsSync(join(dir, "traces"))).toBe(false);
  await store.seal();
  expect(readdirSync(join(dir, "traces"))).toEqual(readdirSync(join(dir, "logs")));
  await store.close();
});

test("retention by age removes a day of every signal", async () => {
  const nowMs = (firstDay + 3) * dayMs;
  const store = await openStore({ dir, threads: 1, retentionAgeMs: 2 * dayMs, now: () => nowMs });
  for (const signal of ["logs", "traces"] as const) {
    for (const day of [0, 1, 2]) await store.append(signal, rowsOfDay(day, 10, signal));
  }
  await store.append("profiles", rowsOfDay(0, 10, "profiles"));
  await store.seal();
  expect(await daysOf(store, "logs")).toEqual({ 1: 10, 2: 10 });
  expect(await daysOf(store, "traces")).toEqual({ 1: 10, 2: 10 });
  expect(await daysOf(store, "profiles")).toEqual({});
  await store.close();
});

test("retention by size removes the oldest day over all signals, then the oldest chunks of the last day", async () => {
  let store = await openStore({ dir, threads: 1 });
  await store.append("traces", rowsOfDay(0, 500, "traces"));
  await store.append("logs", rowsOfDay(1, 500, "logs"));
  await store.seal();
  const half = store.stats().bytes / 2;
  await store.close();
  store = await openStore({ dir, threads: 1, retentionBytes: half * 1.5 });
  await store.seal();
  expect(await daysOf(store, "traces")).toEqual({});
  expect(await daysOf(store, "logs")).toEqual({ 1: 500 });
  // These spans end at noon, so their chunk is older than the logs' of the same day.
  await store.append("traces", rowsOfDay(1, 1_000, "traces").slice(0, 500));
  await store.seal();
  expect(await daysOf(store, "traces")).toEqual({});
  expect(await daysOf(store, "logs")).toEqual({ 1: 500 });
  expect(store.stats().bytes).toBeLessThanOrEqual(half * 1.5);
  await store.close();
});

/** Flips bytes in the values of a partition's file, after its first pages. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  for (let at = 3 * 4_096 + 100; at < bytes.length; at += 512) bytes[at] = bytes[at]! ^ 0xff;
  writeFileSync(path, bytes);
}

test("damage in traces is reported as theirs; logs of the same day stay", async () => {
  let store = await openStore({ dir, threads: 1 });
  for (const signal of ["logs", "traces"] as const) await store.append(signal, rowsOfDay(0, 2_000, signal));
  await store.seal();
  await store.close();
  const [day] = readdirSync(join(dir, "traces"));
  damage(join(dir, "traces", day!, "data.mdb"));
  const verified = await verifyStore(dir);
  expect(verified.damage.length).toBeGreaterThan(0);
  for (const { where } of verified.damage) expect(where).toMatch(/^traces\//);
  store = await openStore({ dir, threads: 1 });
  expect(await daysOf(store, "logs")).toEqual({ 0: 2_000 });
  expect(await daysOf(store, "traces")).toEqual({});
  expect(store.stats().damage.map(({ where }) => where.split("/")[0])).toContain("traces");
  expect(store.stats().damage.filter(({ where }) => where.startsWith("logs"))).toEqual([]);
  await store.close();
});

test("a batch of an unknown signal is reported, and its arrival numbers are not used again", async () => {
  let store = await openStore({ dir, threads: 1 });
  await store.append("logs", rowsOfDay(0, 3, "a"));
  await store.append("traces", rowsOfDay(0, 5, "a"));
  await store.close();
  const path = join(dir, "journal", "000000000001.log");
  const file = readFileSync(path);
  const [, second] = scanSegment(file).records;
  const at = file.indexOf(writeRecordHeader(second!));
  const header = file.subarray(at, at + recordHeaderBytes);
  header.writeUInt32LE(77, 48);
  header.writeUInt32LE(crc32(header.subarray(8)), 4);
  writeFileSync(path, file);
  expect(JSON.stringify((await verifyStore(dir)).damage)).toContain("unknown signal, 77 (5 rows)");
  store = await openStore({ dir, threads: 1 });
  expect(await daysOf(store, "logs")).toEqual({ 0: 3 });
  expect(await daysOf(store, "traces")).toEqual({});
  expect(JSON.stringify(store.stats().damage)).toContain("unknown signal, 77 (5 rows)");
  await store.append("traces", rowsOfDay(0, 1, "b"));
  const { rows } = await store.search({ signal: "traces", ...everything, limit: 1 });
  expect(rows[0]!.arrival).toBe(9);
  await store.close();
});
