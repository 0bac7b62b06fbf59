/** The store against a naive array: random rows, random steps, in every state that rows pass through. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FoundRow, type LogRow, openStore, type Step, type Store } from "../../engine/index.ts";
import { runSteps } from "../query/naive.ts";
import { arbitraryRow, arbitrarySteps } from "./arbitrary.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const datasets = 42;
const queriesEach = 50;
const dayNs = 86_400_000_000_000n;
const firstDay = 19_000n;

/** Where a dataset's rows are when they are searched. */
const states = ["in memory", "sealed", "in memory and sealed", "merged", "after a restart"] as const;

interface Dataset {
  state: (typeof states)[number];
  /** In the order in which the store acknowledged them. */
  rows: LogRow[];
  fromNs: bigint;
  toNs: bigint;
}

let dir: string;
let store: Store;
let sets: Dataset[];

const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, salt: number): T[] =>
  fc.sample(arbitrary, { seed: seed + salt, numRuns: count });

describe(`random queries over random rows (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "svc-search-"));
    store = await openStore({ dir, threads: 2 });
    sets = [];
    for (let number = 0; number < datasets; number++) sets.push(makeDataset(number));
    for (const set of sets.filter(({ state }) => state === "merged")) await appendMerged(set);
    await append(sets.filter(({ state }) => state === "sealed" || state === "after a restart"));
    await append(
      sets.filter(({ state }) => state === "in memory and sealed"),
      0,
      0.5,
    );
    await store.seal();
    await append(
      sets.filter(({ state }) => state === "in memory and sealed"),
      0.5,
      1,
    );
    await append(
      sets.filter(({ state }) => state === "after a restart"),
      1,
      1.5,
    );
    await store.close();
    store = await openStore({ dir, threads: 2 });
    await append(sets.filter(({ state }) => state === "in memory"));
  }, 120_000);

  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  test("every state of rows is searched", () => {
    expect(new Set(sets.map(({ state }) => state)).size).toBe(states.length);
    expect(store.stats().unsealedRows).toBeGreaterThan(0);
    expect(store.stats().damage).toEqual([]);
  });

  test(`${datasets * queriesEach} searches give the rows that the array gives, in its order`, async () => {
    for (const [number, set] of sets.entries()) {
      const queries = sample(arbitraryQuery(set), queriesEach, 7_000 + number);
      for (const query of queries) {
        const wanted = naiveSearch(set, query);
        const found = await store.search({ signal: "logs", ...query });
        const context = `dataset ${number} (${set.state}): ${JSON.stringify(query, printBigInt)}`;
        expect(found.rows.map(comparable), context).toEqual(wanted.slice(0, query.limit).map(comparable));
        expect(found.more, context).toBe(wanted.length > query.limit);
      }
    }
  }, 300_000);

  test("pages put together give every row once, equal times included", async () => {
    for (const [number, set] of sets.slice(0, 10).entries()) {
      const [query] = sample(arbitraryQuery(set), 1, 9_000 + number);
      const limit = 1 + (number % 7);
      const wanted = naiveSearch(set, query!);
      const paged: FoundRow[] = [];
      for (let after: FoundRow | undefined, more = true; more; after = paged.at(-1)) {
        const page = await store.search({
          signal: "logs",
          ...query!,
          limit,
          ...(after === undefined ? {} : { after }),
        });
        paged.push(...page.rows);
        more = page.more;
      }
      expect(paged.map(comparable)).toEqual(wanted.map(comparable));
    }
  }, 120_000);

  test("a scan hands out the same rows as Arrow record batches", async () => {
    for (const [number, set] of sets.slice(0, 10).entries()) {
      const [query] = sample(arbitraryQuery(set), 1, 11_000 + number);
      const scanned: unknown[] = [];
      for await (const batch of store.scan({ signal: "logs", ...query! })) {
        const times = batch.getChild("timestamp")!.data[0]!.values as BigInt64Array;
        for (let i = 0; i < batch.numRows; i++) {
          const attributes = batch.getChild("attributes")!.get(i) as Iterable<[string, string]>;
          const level = batch.getChild("log_level")!.get(i);
          scanned.push([times[i], level, batch.getChild("message")!.get(i), [...attributes].sort()]);
        }
      }
      const wanted = naiveSearch(set, query!).map((row) => [
        row.timeNs,
        row.level,
        row.message,
        Object.entries(row.attributes).sort(),
      ]);
      const order = (rows: unknown[]) => rows.map((row) => JSON.stringify(row, printBigInt)).sort();
      expect(order(scanned)).toEqual(order(wanted));
    }
  }, 120_000);
});

interface Query {
  fromNs: bigint;
  toNs: bigint;
  steps: Step[];
  limit: number;
}

/** Each dataset has days of its own, so that its searches see no other's rows; every third spans midnight. */
function makeDataset(number: number): Dataset {
  const spanNs = number % 3 === 0 ? dayNs : 3_600_000_000_000n;
  const fromNs = (firstDay + BigInt(number) * 3n) * dayNs + (number % 3 === 0 ? dayNs / 2n : 0n);
  const rows = sample(arbitraryRow(fromNs, spanNs), 40 + (number % 5) * 40, number);
  return { state: states[number % states.length]!, rows, fromNs, toNs: fromNs + spanNs };
}

/** Appends the part of each dataset's rows between two shares of them (a share above 1 adds rows again), in odd batches. */
async function append(chosen: Dataset[], fromShare = 0, toShare = 1): Promise<void> {
  for (const set of chosen) {
    const count = set.rows.length;
    const part =
      fromShare >= 1 ? set.rows.slice(0, count / 2) : set.rows.slice(fromShare * count, toShare * count);
    if (fromShare >= 1) set.rows = [...set.rows, ...part];
    for (let at = 0, size = 1; at < part.length; at += size, size = (size * 3) % 31 || 1) {
      await store.append("logs", part.slice(at, at + size));
    }
  }
}

/** One chunk a batch, so that upkeep merges them. */
async function appendMerged(set: Dataset): Promise<void> {
  const size = Math.ceil(set.rows.length / 12);
  for (let at = 0; at < set.rows.length; at += size) {
    await store.append("logs", set.rows.slice(at, at + size));
    await store.seal();
  }
}

function arbitraryQuery(set: Dataset): fc.Arbitrary<Query> {
  const time = fc.oneof(
    fc.constantFrom(...set.rows.map(({ timeNs }) => timeNs)),
    fc.bigInt({ min: set.fromNs, max: set.toNs }),
  );
  const range = fc.oneof(
    { weight: 2, arbitrary: fc.constant<[bigint, bigint]>([set.fromNs, set.toNs]) },
    { weight: 1, arbitrary: fc.tuple(time, time) },
  );
  return fc
    .tuple(range, arbitrarySteps(set.rows), fc.constantFrom(1, 5, 100, 1000))
    .map(([[a, b], steps, limit]) => ({ fromNs: a < b ? a : b, toNs: a < b ? b : a, steps, limit }));
}

/** Newest first; rows of one time in the order in which they were appended, which a stable sort keeps. */
function naiveSearch(set: Dataset, query: Query): LogRow[] {
  const within = set.rows.filter(({ timeNs }) => timeNs >= query.fromNs && timeNs < query.toNs);
  const sorted = within.sort((a, b) => (a.timeNs > b.timeNs ? -1 : a.timeNs < b.timeNs ? 1 : 0));
  return runSteps(query.steps, sorted);
}

function comparable({ timeNs, level, message, attributes }: LogRow): unknown {
  return [timeNs, level, message, Object.entries(attributes).sort()];
}

function printBigInt(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
