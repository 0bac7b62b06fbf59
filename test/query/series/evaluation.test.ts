/**
 * Compares answers from a real store with worked examples, and with the naive evaluator for random queries and data.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openStore, type RowSignal, type Store } from "../../../engine/index.ts";
import { QueryError, queryTimeseries } from "../../../query/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { arbitraryData } from "./arbitrary-data.ts";
import { arbitraryQuery, arbitraryRange } from "./arbitrary-queries.ts";
import { readCases } from "./cases.ts";
import { describeDifference } from "./difference.ts";
import type { BucketedRange, NaiveSample, TelemetryData } from "./naive/data.ts";
import { evaluate, type NaiveAnswer } from "./naive/evaluator.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const dataSets = 6;
const queriesPerSet = scaled(90, 4_000);

/** Appends samples without the fields that only the naive evaluator has. */
async function appendSamples(store: Store, samples: readonly NaiveSample[]): Promise<void> {
  await store.appendSamples(samples.map(({ arrival: _, ...sample }) => ({ ...sample, unit: "" })));
}

/** Appends the data in batches and in the order of arrival. The first half is sealed into chunks, the second is not. */
async function load(store: Store, data: TelemetryData): Promise<void> {
  const arrived = data.samples.toSorted((a, b) => a.arrival - b.arrival);
  for (const [part, isLast] of [
    [0, false],
    [1, true],
  ] as const) {
    const half = <Item>(all: readonly Item[]) => {
      const middle = Math.floor(all.length / 2);
      return part === 0 ? all.slice(0, middle) : all.slice(middle);
    };
    for (const [signal, rows] of Object.entries(data.rows) as [
      RowSignal,
      TelemetryData["rows"]["logs"] & object,
    ][])
      await store.append(signal, half(rows));
    const samples = half(arrived);
    for (let at = 0; at < samples.length; at += 500) await appendSamples(store, samples.slice(at, at + 500));
    if (!isLast) await store.seal();
  }
}

async function withStore(data: TelemetryData, use: (store: Store) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "svc-evaluate-"));
  const store = await openStore({ dir, threads: 2 });
  try {
    await load(store, data);
    await use(store);
  } finally {
    await store.close();
    rmSync(dir, { recursive: true });
  }
}

/** The series that the store returns; undefined where the query is refused. */
async function runQuery(
  store: Store,
  query: string,
  range: BucketedRange,
): Promise<NaiveAnswer["series"] | undefined> {
  try {
    return (await queryTimeseries(store, { query, ...range })).series;
  } catch (error) {
    if (error instanceof QueryError) return undefined;
    throw error;
  }
}

describe("worked examples", () => {
  const cases = [...readCases("worked"), ...readCases("prometheus")];
  test.each(
    [...Map.groupBy(cases, ({ data }) => data).values()].map((same) => [same[0]!.query, same] as const),
  )("over the data of %s", async (_, same) => {
    await withStore(same[0]!.data, async (store) => {
      for (const { query, range, expect: expected, isOrdered } of same) {
        const found = await runQuery(store, query, range);
        if (typeof expected === "string") expect(found, `${query} is refused: ${expected}`).toBeUndefined();
        else expect(found && describeDifference(found, expected, isOrdered), query).toBe("");
      }
    });
  });
});

/** The sums of the series in their order. Series with equal sums may change places without a difference. */
function printTotals(series: NaiveAnswer["series"]): string {
  return series
    .map(({ points }) => points.reduce((sum, [, value]) => sum + value, 0).toPrecision(6))
    .join(" ");
}

describe(`random queries over random data (SVC_SEED=${seed})`, () => {
  test.each(
    fc.sample(arbitraryData, { seed, numRuns: dataSets }).map((data, index) => [index, data] as const),
  )(
    `${queriesPerSet} queries over data set %i`,
    async (index, data) => {
      const queries = fc.sample(fc.tuple(arbitraryQuery, arbitraryRange), {
        seed: seed + 1 + index,
        numRuns: queriesPerSet,
      });
      let compared = 0;
      await withStore(data, async (store) => {
        for (const [query, range] of queries) {
          const expected = evaluate(query, data, range);
          if (!("error" in expected) && expected.isFragile) continue;
          const found = await runQuery(store, query, range);
          const context = `${query} from ${range.startMs} to ${range.endMs} by ${range.bucketSeconds} s`;
          if ("error" in expected) expect(found, `${context} is refused: ${expected.error}`).toBeUndefined();
          else {
            expect(found && describeDifference(found, expected.series, false), context).toBe("");
            if (/^(topk|bottomk)\b(?!.*\b(and|or|unless|default)\b)[^+\-*/%=<>]*$/.test(query))
              expect(printTotals(found!), context).toBe(printTotals(expected.series));
          }
          compared += 1;
        }
      });
      // Few queries are skipped because rounding decides on their answers.
      expect(compared).toBeGreaterThan(queriesPerSet * 0.8);
    },
    120_000,
  );
});
