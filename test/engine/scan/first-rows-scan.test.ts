/** The store against a naive array: random rows, random steps, in every state that rows pass through. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FoundRow, LogRow, Step, Store } from "../../../engine/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { runSteps } from "../../query/naive.ts";
import { arbitrarySteps } from "../arbitrary.ts";
import {
  arbitraryRange,
  type Dataset,
  type FilledStore,
  fillStore,
  printBigInt,
  sample,
  seed,
  states,
} from "../datasets.ts";

const datasets = scaled(9, 420);
const queriesEach = 50;

let filled: FilledStore;
let store: Store;
let sets: Dataset[];

describe(`random queries over random rows (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    // So little room for columns that most of them are decoded again and again.
    filled = await fillStore(datasets, 12 * 2 ** 20);
    ({ store, sets } = filled);
  }, 120_000);

  afterAll(() => filled.close());

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

  test("searches that run at once, with room for the columns of few, give the same rows", async () => {
    const searches = sets.flatMap((set, number) =>
      sample(arbitraryQuery(set), 6, 11_000 + number).map((query) => ({ set, query })),
    );
    const found = await Promise.all(searches.map(({ query }) => store.search({ signal: "logs", ...query })));
    for (const [i, { set, query }] of searches.entries()) {
      const wanted = naiveSearch(set, query).slice(0, query.limit);
      expect(found[i]!.rows.map(comparable), JSON.stringify(query, printBigInt)).toEqual(
        wanted.map(comparable),
      );
    }
  }, 120_000);

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
  order?: "newest" | "oldest";
}

function arbitraryQuery(set: Dataset): fc.Arbitrary<Query> {
  return fc
    .tuple(
      arbitraryRange(set),
      arbitrarySteps(set.rows),
      fc.constantFrom(1, 5, 100, 1000),
      fc.constantFrom({}, { order: "newest" as const }, { order: "oldest" as const }),
    )
    .map(([range, steps, limit, order]) => ({ ...range, ...order, steps, limit }));
}

/**
 * Newest first; rows of one time in the order in which they were appended, which a stable sort keeps. `oldest` is the
 * same from its end.
 */
function naiveSearch(set: Dataset, query: Query): LogRow[] {
  const within = set.rows.filter(({ timeNs }) => timeNs >= query.fromNs && timeNs < query.toNs);
  const sorted = within.sort((a, b) => (a.timeNs > b.timeNs ? -1 : a.timeNs < b.timeNs ? 1 : 0));
  const found = runSteps(query.steps, sorted);
  return query.order === "oldest" ? found.toReversed() : found;
}

function comparable({ timeNs, level, message, attributes }: LogRow): unknown {
  return [timeNs, level, message, Object.entries(attributes).sort()];
}
